export interface Metric {
  /** Names of counters end with `_total`. */
  readonly name: string;
  readonly help: string;
  readonly value: number;
}

/** Counters of a team server in the text format of Prometheus. */
export class Metrics {
  readonly #counters = new Map<string, { readonly help: string; readonly values: Map<string, number> }>();

  count(name: string, help: string, labels: Readonly<Record<string, string>> = {}, by = 1): void {
    const counter = this.#counters.get(name) ?? { help, values: new Map<string, number>() };
    this.#counters.set(name, counter);
    const key = labelText(labels);
    counter.values.set(key, (counter.values.get(key) ?? 0) + by);
  }

  /** `others`: values that are counted elsewhere. */
  text(others: readonly Metric[]): string {
    const counters = [...this.#counters].flatMap(([name, { help, values }]) => [
      `# HELP ${name} ${help}`,
      `# TYPE ${name} counter`,
      ...[...values].map(([labels, value]) => `${name}${labels} ${value}`),
    ]);
    const current = others.flatMap(({ name, help, value }) => [
      `# HELP ${name} ${help}`,
      `# TYPE ${name} ${name.endsWith("_total") ? "counter" : "gauge"}`,
      `${name} ${value}`,
    ]);
    return `${[...counters, ...current].join("\n")}\n`;
  }
}

function labelText(labels: Readonly<Record<string, string>>): string {
  const parts = Object.entries(labels).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  return parts.length === 0 ? "" : `{${parts.join(",")}}`;
}
