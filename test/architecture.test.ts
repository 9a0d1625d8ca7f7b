/** Import rules and other rules of the code. See ARCHITECTURE.md for the reasons. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { posix } from "node:path";
import { describe, expect, it } from "vitest";
import { PRODUCTS as KNOWN } from "../src/providers/loaded.ts";
import {
  importsOf,
  isTest,
  type SourceText,
  sourceFiles,
  withoutComments,
  withoutStrings,
} from "./support/source-files.ts";

/** `node` is Node's own modules, `package` anything installed; a folder may always import from itself. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  core: [],
  providers: ["core"],
  // Packages: file watchers of the operating system, which are not worth writing again.
  transports: ["core", "node", "package"],
  stores: ["core", "node", "package"],
  exporters: ["core", "node"],
  app: ["core", "providers", "transports", "stores", "exporters", "node", "package"],
  cli: ["core", "app", "server", "node", "package"],
  server: ["core", "app", "node", "package"],
};

/** Folders of the core, each with those that it may import. */
const CORE_BUILDS_ON: Readonly<Record<string, readonly string[]>> = {
  tools: [],
  facts: ["tools"],
  link: ["tools", "facts"],
  views: ["tools", "facts", "link", "guard"],
  redaction: ["tools", "facts", "link", "views"],
  guard: ["tools"],
  ports: ["tools", "facts", "link", "views", "guard"],
};

/** The only file of `app` that names the implementation of the stores. */
const NAMES_DATABASES = "src/app/databases.ts";

/** Products that have a provider, or may have one later. */
const PRODUCTS = new Set([
  ...KNOWN.map((p) => p.name),
  "claude",
  "codex",
  "opencode",
  "gemini",
  "copilot",
  "kimi",
  "qwen",
  "goose",
]);

/** The list of products, and the file that loads them. */
const LISTS = new Set(["src/providers/index.ts", "src/providers/loaded.ts"]);

/**
 * They read what all manifests declare: about shell commands, because a command of one product may start any other, and
 * about headers, because the proxy decides before it knows the product whether to record a value.
 */
const READ_MANIFESTS = /^src\/providers\/(?:kit\/launch\/(?:products|environment)|proxy\/sanitize)\.ts$/;

const MAX_LINES = 500;

/** The only files that format numbers and times as text; the second one adds the time zone of the browser. */
const FORMATTERS = new Set(["src/core/tools/format.ts", "web/src/data/format.ts"]);

/**
 * Decimals, dollar signs before an amount, percent signs and units of time after one, local dates, plurals, and the
 * dash for unknown values.
 */
const FORMATTING =
  /\.toFixed\(|\.toLocale\w+\(|\bIntl\.|[`"]\$(?:\$\{|")|\} (?:%|ms|s|m|h|d)[`<\s]|=== 1 \? "" : "s"|"–"/;

/** The type `any`, not a variable of that name. */
const EXPLICIT_ANY = /(?:[:<|&]|\bas)\s*any\b(?!\s*(?:[(.?]|[!=]==))/;

const MAKING = /\b(?:mkdir|writeFile|appendFile|copyFile|createWriteStream)(?:Sync)?\(/;

/**
 * The file that creates private files, and those that write files of others, or into a folder that is already private:
 * staged imports, and databases that the app has created.
 */
const WRITERS = [
  "src/transports/private.ts",
  "src/app/hooks/hook-install.ts",
  "src/cli/output.ts",
  "src/app/demo/replay.ts",
  "src/app/import/import.ts",
  "src/app/import/import-files.ts",
  "src/stores/",
];

/** Files of the package and of the system; `files.ts` checks kind and size first. */
const READS_WHOLE = [
  "src/app/demo/replay.ts",
  "src/app/ingest/index-file.ts",
  "src/app/version.ts",
  "src/server/dashboard.ts",
  "src/stores/postgres/password-file.ts",
  "src/transports/files.ts",
  "src/transports/regular.ts",
  "src/transports/system/linux-locks.ts",
  "src/transports/system/linux-mounts.ts",
  "src/transports/system/linux.ts",
  "src/transports/system/origin.ts",
  "src/transports/system/windows.ts",
];

const product = sourceFiles("src").filter((file) => !isTest(file));
const dashboard = sourceFiles("web").filter((file) => !isTest(file));
const everything = [...sourceFiles("src"), ...sourceFiles("test"), ...sourceFiles("web")];
const folderOf = (path: string) => path.split("/")[1] ?? "";

/** Packages that only compute. */
const DATA_PACKAGES = new Set(["eventsource-parser", "d3-hierarchy"]);

describe("imports", () => {
  it("are checked for every folder", () => {
    expect(
      [...new Set(product.map((file) => folderOf(file.path)))].filter((folder) => !(folder in MAY_IMPORT)),
    ).toEqual([]);
  });

  it("follow the rule of their folder", () => {
    expect(product.flatMap(forbiddenImports)).toEqual([]);
  });

  it("of one provider never lead to another; only the list imports them all", () => {
    const crossing = product
      .filter((file) => folderOf(file.path) === "providers" && !LISTS.has(file.path))
      .flatMap((file) =>
        importsOf(file.text)
          .map((target) => resolved(file, target))
          .filter((path) => path !== "src/providers/index.ts" || !READ_MANIFESTS.test(file.path))
          .filter(
            (path) =>
              path.startsWith("src/providers/") && !["kit", file.path.split("/")[2]].includes(path.split("/")[2]),
          )
          .map((path) => `${file.path} imports ${path}`),
      );
    expect(crossing).toEqual([]);
  });

  it("of manifests load only what hooks and status lines need", () => {
    const heavy = product
      .filter((file) => /^src\/providers\/\w+\/manifest\.ts$/.test(file.path))
      .flatMap((file) =>
        [...withoutComments(file.text).matchAll(/^(?:import|export) (?!type\b)[^;]*?from "([^"]+)";$/gm)]
          .map(([, target = ""]) => resolved(file, target))
          .filter((path) => !/\/(?:hook-payload|statusline)\.ts$/.test(path))
          .map((path) => `${file.path} imports ${path}`),
      );
    expect(heavy).toEqual([]);
  });

  it("within the core follow the order of its folders", () => {
    expect(product.filter(({ path }) => path.startsWith("src/core/")).flatMap(importsAgainstLayers)).toEqual([]);
  });

  it("of app lead to the databases in one file only", () => {
    const naming = product
      .filter(({ path }) => path.startsWith("src/app/") && path !== NAMES_DATABASES)
      .filter((file) => importsOf(file.text).some((target) => resolved(file, target).startsWith("src/stores/sqlite/")));
    expect(naming.map(({ path }) => path)).toEqual([]);
  });

  it("of the dashboard lead only to the core; its data layer imports neither pages nor the framework", () => {
    const wrong = dashboard.flatMap((file) =>
      importsOf(file.text)
        .map((target) => resolved(file, target))
        .filter((path) => {
          const isData = file.path.startsWith("web/src/data/");
          if (path.startsWith("src/")) return !isData || !path.startsWith("src/core/");
          return path.startsWith("node:")
            ? file.path !== "web/vite.config.ts"
            : isData && (path.startsWith("web/") ? !path.startsWith("web/src/data/") : !DATA_PACKAGES.has(path));
        })
        .map((path) => `${file.path} imports ${path}`),
    );
    expect(wrong).toEqual([]);
  });

  it("include the file extension", () => {
    expect(
      everything.flatMap((file) =>
        importsOf(file.text)
          .filter((target) => target.startsWith(".") && !/\.(tsx?|json|css)$/.test(target))
          .map((target) => `${file.path}: ${target}`),
      ),
    ).toEqual([]);
  });
});

describe("code", () => {
  it("names no product outside its provider", () => {
    const words = new RegExp(`\\b(${[...PRODUCTS].join("|")})\\b`, "i");
    const naming = [...product, ...dashboard].filter(
      (file) => folderOf(file.path) !== "providers" && words.test(withoutComments(file.text)),
    );
    expect(naming.map((file) => file.path)).toEqual([]);
  });

  it("has no any, and disables no checker", () => {
    const any = everything.flatMap((file) =>
      linesThat(withoutStrings(file.text), EXPLICIT_ANY).map((line) => `${file.path}: ${line}`),
    );
    const silenced = everything
      .filter((file) => file.path !== "test/architecture.test.ts")
      .flatMap((file) =>
        linesThat(file.text, /@ts-(ignore|expect-error|nocheck)/).map((line) => `${file.path}: ${line}`),
      );
    expect([...any, ...silenced]).toEqual([]);
  });

  it("formats numbers and times in one place", () => {
    const elsewhere = [...product, ...dashboard]
      .filter(({ path }) => !FORMATTERS.has(path))
      .flatMap(({ path, text }) => linesThat(withoutComments(text), FORMATTING).map((line) => `${path}: ${line}`));
    expect(elsewhere).toEqual([]);
  });

  it("creates folders and files in one place, which makes them private", () => {
    const elsewhere = product
      .filter(({ path }) => !WRITERS.some((writer) => path.startsWith(writer)))
      .flatMap(({ path, text }) => linesThat(withoutComments(text), MAKING).map((line) => `${path}: ${line}`));
    expect(elsewhere).toEqual([]);
  });

  it("reads files only in places that limit the size and do not block on a pipe", () => {
    const reads = /\breadFile(?:Sync)?\(|\bopenSync\([^)]*"r"|\bcreateReadStream\((?![^)]*\bfd\b)/;
    expect(
      product
        .filter((file) => reads.test(withoutComments(file.text)) && !READS_WHOLE.includes(file.path))
        .map((file) => file.path),
    ).toEqual([]);
  });

  it("skips no test", () => {
    const left = everything
      .filter(isTest)
      .flatMap((file) =>
        linesThat(
          withoutStrings(file.text),
          /\b(?:it|test|describe)(?:\.\w+)*\.(?:only|skip|skipIf|runIf|todo|fails)\b/,
        ).map((line) => `${file.path}: ${line}`),
      );
    expect(left).toEqual([]);
  });

  it(`is in files of at most ${MAX_LINES} lines`, () => {
    expect(
      everything
        .map((file) => ({ path: file.path, lines: file.text.split("\n").length }))
        .filter(({ lines }) => lines > MAX_LINES),
    ).toEqual([]);
  });
});

describe("fixtures", () => {
  it("contain no files that retinue writes", () => {
    const files = execFileSync("git", ["ls-files", "fixtures", "examples"], { encoding: "utf8" }).split("\n");
    expect(files.filter((path) => /\/\.cache\/|\b(?:index|kept)\.sqlite/.test(path))).toEqual([]);
  });
});

describe("dependencies", () => {
  it("have exact versions, so that updates are explicit", () => {
    const { dependencies, devDependencies } = JSON.parse(readFileSync("package.json", "utf8")) as Record<
      string,
      Record<string, string>
    >;
    expect(
      Object.entries({ ...dependencies, ...devDependencies }).filter(
        ([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version),
      ),
    ).toEqual([]);
  });
});

describe("the rules above", () => {
  const file = (path: string, text: string): SourceText => ({ path, text });

  it.each([
    [file("src/core/link/link.ts", 'import { readFileSync } from "node:fs";'), "node:fs"],
    [file("src/core/link/link.ts", 'import type { Machine } from "../../app/machine.ts";'), "src/app/machine.ts"],
    [file("src/providers/toy/index.ts", 'const fs = await import("node:fs");'), "node:fs"],
    [
      file("src/transports/files.ts", 'export { claude } from "../providers/claude/manifest.ts";'),
      "src/providers/claude/manifest.ts",
    ],
    [file("src/app/machine.ts", 'import "../cli/main.ts";'), "src/cli/main.ts"],
    [file("src/cli/commands/tree.ts", 'import { openKept } from "../../stores/kept.ts";'), "src/stores/kept.ts"],
  ])("catch a forbidden import: %o", (wrong, target) => {
    expect(forbiddenImports(wrong)).toEqual([`${wrong.path} imports ${target}`]);
  });

  it("catch an import against the layers of the core", () => {
    const wrong = file("src/core/facts/ids.ts", 'import { link } from "../link/link.ts";');
    expect(importsAgainstLayers(wrong)).toEqual(["src/core/facts/ids.ts imports src/core/link/link.ts"]);
  });

  it.each([
    "const x: any = 1;",
    "x as any",
    "Map<any, string>",
    "function f(x: any): void",
    "string | any",
    "any[] & any",
  ])("catch the type any: %s", (code) => {
    expect(code).toMatch(EXPLICIT_ANY);
  });

  it.each([
    "usd.toFixed(4)",
    "`$${usd}`",
    "`$" + "{part} %`",
    "`$" + "{ms} ms`",
    'n === 1 ? "" : "s"',
    "at.toLocaleTimeString()",
  ])("catch a second formatter: %s", (code) => {
    expect(code).toMatch(FORMATTING);
  });

  it.each(["const any = 1;", "f(x, any === 1)", "x ? y : any.length", "company: string"])(
    "let other words be: %s",
    (code) => {
      expect(code).not.toMatch(EXPLICIT_ANY);
    },
  );

  it("distinguish code, comments and strings", () => {
    const text = 'const a = "http://x"; // codex\n/* codex\n */ const b = `//x`;';
    expect(withoutComments(text)).toBe('const a = "http://x"; \n const b = `//x`;');
  });
});

function forbiddenImports(file: SourceText): string[] {
  const own = folderOf(file.path);
  const allowed = MAY_IMPORT[own] ?? [];
  return importsOf(file.text)
    .map((target) => resolved(file, target))
    .filter((path) => kindOf(path) !== own && !allowed.includes(kindOf(path)))
    .map((path) => `${file.path} imports ${path}`);
}

function importsAgainstLayers(file: SourceText): string[] {
  const own = file.path.split("/")[2] ?? "";
  return importsOf(file.text)
    .map((target) => resolved(file, target))
    .filter(
      (path) =>
        path.startsWith("src/core/") && ![own, ...(CORE_BUILDS_ON[own] ?? [])].includes(path.split("/")[2] ?? ""),
    )
    .map((path) => `${file.path} imports ${path}`);
}

const resolved = (file: SourceText, target: string) =>
  target.startsWith(".") ? posix.join(posix.dirname(file.path), target) : target;

/** The folder of an import, or another origin. Tests and files outside of src must not be imported. */
function kindOf(path: string): string {
  if (path.startsWith("node:")) return "node";
  if (path.startsWith("src/")) return folderOf(path);
  return path.startsWith("test/") || path.startsWith("..") ? "outside" : "package";
}

const linesThat = (text: string, pattern: RegExp) =>
  text
    .split("\n")
    .filter((line) => pattern.test(line))
    .map((line) => line.trim());
