/** A section of docs/benchmarks.md: its heading and its content. */
export interface Section {
  readonly title: string;
  readonly text: string;
}

/** Parses a section as printed by a benchmark, heading first. */
export function sectionOf(printed: string): Section {
  const [, title = "", text = ""] = /^## (.*)\n+([\s\S]*)$/.exec(printed.trim()) ?? [];
  return { title, text: text.trim() };
}

/**
 * Replaces the sections with these titles and keeps the others. Sections are sorted by `order`; those that it does not
 * contain come last.
 */
export function withSections(
  page: string,
  intro: string,
  sections: readonly Section[],
  order: readonly string[],
): string {
  const known = page
    .split(/^(?=## )/m)
    .filter((part) => part.startsWith("## "))
    .map(sectionOf);
  const all = new Map([...known, ...sections].map((section) => [section.title, section]));
  const rank = ({ title }: Section) => (order.includes(title) ? order.indexOf(title) : order.length);
  const sorted = [...all.values()].sort((a, b) => rank(a) - rank(b));
  return `${[intro.trim(), ...sorted.map(({ title, text }) => `## ${title}\n\n${text}`)].join("\n\n")}\n`;
}
