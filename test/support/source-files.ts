/** The source code of the repository as text, for rules that are checked by tests. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { filesBelow } from "./fixtures.ts";

const ROOT = join(import.meta.dirname, "../..");

export interface SourceText {
  /** From the root of the repository. */
  readonly path: string;
  readonly text: string;
}

export function sourceFiles(folder: "src" | "test" | "web"): SourceText[] {
  return filesBelow(join(ROOT, folder))
    .filter((path) => /\.tsx?$/.test(path))
    .map((path) => ({ path: `${folder}/${path}`, text: readFileSync(join(ROOT, folder, path), "utf8") }));
}

export const isTest = ({ path }: SourceText) => path.endsWith(".test.ts");

/** Strings are matched first, so that comment markers inside of them are ignored. */
const STRING_OR_COMMENT =
  /("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)|\/\*[\s\S]*?\*\/|(?<![:\\])\/\/[^\n]*/g;

export const withoutComments = (text: string) =>
  text.replace(STRING_OR_COMMENT, (_all, string: string | undefined) => string ?? "");
export const withoutStrings = (text: string) =>
  text.replace(STRING_OR_COMMENT, (_all, string: string | undefined) => (string === undefined ? "" : '""'));

/** The modules that a file imports or re-exports, types included. */
export function importsOf(text: string): string[] {
  const code = withoutComments(text);
  return [...code.matchAll(/(?<![\w-])(?:from|import)\s*\(?\s*"([^"]+)"/g)].map(([, target]) => target ?? "");
}
