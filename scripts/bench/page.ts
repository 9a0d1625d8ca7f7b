/** A section of docs/benchmarks.md: its heading, and what is below it. */
export interface Section {
  readonly title: string;
  readonly text: string;
}

/** The section that a bench printed, heading first. */
export function sectionOf(printed: string): Section {
  const [, title = "", text = ""] = /^## (.*)\n+([\s\S]*)$/.exec(printed.trim()) ?? [];
  return { title, text: text.trim() };
}

/**
 * The page with these sections in place of those of the same title. The others stay; `order` says which comes first,
 * and those it does not name come last.
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
