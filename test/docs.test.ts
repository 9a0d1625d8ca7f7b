/** Pages that repeat facts of the code: `UPDATE=1 npx vitest run test/docs.test.ts` rewrites them. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readSettings } from "../src/app/settings/settings.ts";
import { SETTINGS } from "../src/app/settings/settings-table.ts";
import { readYaml } from "../src/app/settings/yaml.ts";
import { buildProgram } from "../src/cli/program.ts";
import { PRODUCTS } from "../src/providers/loaded.ts";

const ROOT = join(import.meta.dirname, "..");

describe("docs/settings.md", () => {
  const path = join(ROOT, "docs", "settings.md");

  it("lists every setting as defined in the code", () => {
    const rows = Object.entries(SETTINGS).map(([key, { text, kind, shown }]) =>
      [`\`${key}\``, text, kind.form, shown].join(" | "),
    );
    const table = [
      "| key | what it does | write | default |",
      "| --- | --- | --- | --- |",
      ...rows.map((row) => `| ${row} |`),
    ].join("\n");
    const page = readFileSync(path, "utf8");
    const right = page.replace(/(?<=<!-- table -->\n)[\s\S]*(?=<!-- \/table -->)/, `${table}\n`);
    if (process.env.UPDATE === "1") writeFileSync(path, right);
    expect(readFileSync(path, "utf8")).toBe(right);
    expect(right).toContain(table);
  });

  it("has a valid example", () => {
    const [, example = ""] = /```yaml\n([\s\S]*?)```/.exec(readFileSync(path, "utf8")) ?? [];
    const file = readYaml(example);
    const { set, faults } = readSettings("root" in file ? file.root : null, "/home/dev");
    expect(faults).toEqual([]);
    expect(set).toEqual([
      "roots.claude",
      "stale_after",
      "redaction.level",
      "redaction.patterns",
      "redaction.paths",
      "prices.our-finetune-v2",
    ]);
  });
});

describe("links", () => {
  const inDocs = readdirSync(join(ROOT, "docs"), { recursive: true, encoding: "utf8" });
  const pages = [...readdirSync(ROOT), ...inDocs.map((name) => join("docs", name))].filter((name) =>
    name.endsWith(".md"),
  );

  it("lead to a file", () => {
    const broken = pages.flatMap((page) =>
      [...readFileSync(join(ROOT, page), "utf8").matchAll(/\]\((?!\w+:|#)([^)#\s]+)/g)]
        .map(([, target = ""]) => target)
        .filter((target) => !existsSync(join(ROOT, page, "..", target)))
        .map((target) => `${page}: ${target}`),
    );
    expect(broken).toEqual([]);
    expect(pages.length).toBeGreaterThan(50);
  });
});

describe("SECURITY.md", () => {
  const rows = readFileSync(join(ROOT, "SECURITY.md"), "utf8")
    .split("\n")
    .filter((line) => /^\| (?!they cannot |risk |---)/.test(line));

  it("names an existing test for every line of the threat model", () => {
    expect(rows.length).toBeGreaterThan(30);
    for (const row of rows) {
      const tests = [...(row.split("|").at(-2) ?? "").matchAll(/`([^`]+)`/g)].map(([, path = ""]) => path);
      const right =
        tests.length > 0 && tests.every((path) => path.endsWith(".test.ts") && existsSync(join(ROOT, path)));
      expect([row, right]).toEqual([row, true]);
    }
  });
});

/** Tables of products, which are generated from their manifests. */
describe("the products in", () => {
  const named = PRODUCTS.map(({ product }) => product).sort((a, b) => a.localeCompare(b));
  const byName = PRODUCTS.toSorted((a, b) => a.product.localeCompare(b.product));
  const table = (...rows: readonly (readonly string[])[]) =>
    `\n\n${rows.map((cells) => `| ${cells.join(" | ")} |\n`).join("")}\n`;

  it.each([
    [
      "docs/products.md",
      "product-table",
      table(
        ["product", "versions", "format"],
        ["---", "---", "---"],
        ...byName.map(({ product, versions, docs }) => [
          product,
          versions ?? "",
          `[${docs.replace("docs/", "")}](${docs.replace("docs/", "")})`,
        ]),
      ),
    ],
    ["README.md", "product-names", `${named.slice(0, -1).join(", ")} and ${named.at(-1)}`],
    [
      "docs/files.md",
      "product-table",
      table(
        ["product", "folders"],
        ["---", "---"],
        ...byName.map(({ name, product, rootsForm }) => [product, `\`roots.${name}\`, else ${rootsForm}`]),
      ),
    ],
    [
      "docs/live-sources.md",
      "product-table",
      table(
        ["product", "output that is read"],
        ["---", "---"],
        ...byName.flatMap(({ product, printed }) => (printed === undefined ? [] : [[product, `\`${printed.form}\``]])),
      ),
    ],
  ])("%s equal the list of products (%s)", (file, mark, text) => {
    const path = join(ROOT, file);
    const page = readFileSync(path, "utf8");
    const right = page.replace(new RegExp(`(?<=<!-- ${mark} -->)[\\s\\S]*?(?=<!-- /${mark} -->)`), () => text);
    expect(page).toContain(`<!-- ${mark} -->`);
    if (process.env.UPDATE === "1") writeFileSync(path, right);
    expect(readFileSync(path, "utf8")).toBe(right);
  });

  it("have a page each", () => {
    expect(PRODUCTS.filter(({ docs }) => !existsSync(join(ROOT, docs))).map(({ name }) => name)).toEqual([]);
    expect(PRODUCTS.filter(({ rootsForm }) => rootsForm === undefined).map(({ name }) => name)).toEqual([]);
  });
});

describe("README.md", () => {
  it("lists exactly the commands of the program", () => {
    const readme = readFileSync(join(ROOT, "README.md"), "utf8");
    const [, list = ""] = /^## Commands\n+```sh\n([\s\S]*?)```/m.exec(readme) ?? [];
    const listed = [...list.matchAll(/^retinue ([a-z]+)(?!\w|:)/gm)].map(([, name]) => name);
    expect(listed.sort()).toEqual(
      buildProgram()
        .commands.map((command) => command.name())
        .sort(),
    );
  });
});
