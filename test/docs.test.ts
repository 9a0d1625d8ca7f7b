/** Pages that repeat facts of the code: `UPDATE=1 npx vitest run test/docs.test.ts` rewrites them. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readSettings } from "../src/app/settings/settings.ts";
import { SETTINGS } from "../src/app/settings/settings-table.ts";
import { readYaml } from "../src/app/settings/yaml.ts";
import { buildProgram } from "../src/cli/program.ts";
import { PRODUCTS } from "../src/providers/loaded.ts";
import { COOKIE, RULES } from "../src/server/team/access.ts";
import { SHIPMENT_LIMITS } from "../src/server/team/shipment.ts";
import { MOST } from "../src/server/team/shipped-documents.ts";

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

describe("links to a heading", () => {
  /** As GitHub names them. */
  const anchors = (text: string) =>
    [...text.matchAll(/^#+ (.+)$/gm)].map(([, title = ""]) =>
      title
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\s_-]/gu, "")
        .replaceAll(" ", "-"),
    );

  it("lead to one", () => {
    const pages = ["README.md", "SECURITY.md", ...readdirSync(join(ROOT, "docs")).map((name) => join("docs", name))];
    const broken = pages
      .filter((name) => name.endsWith(".md"))
      .flatMap((name) =>
        [...readFileSync(join(ROOT, name), "utf8").matchAll(/\]\((?!\w+:)([^)#\s]*\.md)?#([^)\s]+)\)/g)]
          .filter(([, target, anchor = ""]) => {
            const file = target === undefined ? join(ROOT, name) : join(ROOT, name, "..", target);
            return !anchors(readFileSync(file, "utf8")).includes(anchor);
          })
          .map(([link]) => `${name}: ${link}`),
      );
    expect(broken).toEqual([]);
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

/** The pages about the team server name everything that its code has, and nothing else. */
describe("the team server", () => {
  const page = (name: string) => readFileSync(join(ROOT, "docs", name), "utf8");
  const folder = join(ROOT, "src/server/team");
  const code = readdirSync(folder)
    .filter((name) => !name.endsWith(".test.ts"))
    .map((name) => readFileSync(join(folder, name), "utf8"))
    .join("\n");
  const found = (text: string, pattern: RegExp) =>
    [...new Set([...text.matchAll(pattern)].map(([, name]) => name))].sort();

  it("has the metrics of docs/team.md", () => {
    const names = found(code, /"(retinue_[a-z_]+)"/g).filter((name) => name !== COOKIE);
    expect(found(page("team.md"), /`(retinue_\w+)`/g)).toEqual(names);
    expect(names.length).toBeGreaterThan(15);
  });

  it("writes the log events of docs/team.md", () => {
    const [line = ""] = /^- The log is JSON.*$/m.exec(page("team.md")) ?? [];
    expect(found(line, /`(\w+)`/g)).toEqual(found(code, /\blog\("(\w+)"/g));
  });

  it("has the routes of docs/http.md", () => {
    const [, section = ""] = page("http.md").split("## Team server\n");
    const own = RULES.map(({ path }) => path).filter((path) =>
      /^\/(?:api\/(?:team|ingest|session)|metrics)/.test(path),
    );
    expect(found(section, /^\| `(?:GET|POST) ([^`?]+)/gm)).toEqual([...new Set(own)].sort());
  });

  it("has the limits of docs/limits.md", () => {
    const { compressedBytes, bytes, lineBytes, documents } = SHIPMENT_LIMITS;
    const mebibytes = (size: number) => `${size >> 20} MiB`;
    expect(page("limits.md")).toContain(
      `| shipment to a team server | ${mebibytes(compressedBytes)}, ${mebibytes(bytes)} decompressed, ${documents.toLocaleString("en")} documents of ${mebibytes(lineBytes)} |`,
    );
    const { containers, lineContainers } = SHIPMENT_LIMITS;
    expect(page("limits.md")).toContain(
      `| ${containers.toLocaleString("en")} · ${lineContainers.toLocaleString("en")} | 413 |`,
    );
    const { uriBytes, nameChars, pathChars } = MOST;
    const [uris, names, paths] = [uriBytes, nameChars, pathChars].map((most) => most.toLocaleString("en"));
    expect(page("limits.md")).toContain(`| ${uris} bytes · ${names} characters · ${paths} characters |`);
  });

  it("has the settings that the pages name", () => {
    const named = ["team.md", "http.md", "redaction.md", "limits.md"].flatMap((name) =>
      found(page(name), /`((?:team|store|redaction)\.[a-z_.]+)`/g),
    );
    const isKey = (name = "") => Object.keys(SETTINGS).some((key) => key === name || key.startsWith(`${name}.`));
    expect(named.filter((name) => !isKey(name) && !name?.endsWith(".md"))).toEqual([]);
    expect(named.length).toBeGreaterThan(10);
  });

  it("has settings that can be read as docs/team.md writes them", () => {
    const examples = [...page("team.md").matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, example = ""]) => example);
    expect(examples.length).toBeGreaterThan(2);
    for (const example of examples) {
      const file = readYaml(example);
      expect(readSettings("root" in file ? file.root : null, "/home/dev").faults).toEqual([]);
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
