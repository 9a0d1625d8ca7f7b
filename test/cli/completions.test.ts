/**
 * Completion scripts: the text is checked for all three shells; only the bash script is also run, since bash is always
 * installed.
 */
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { Argument, Command, Option } from "commander";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { PROVIDER_NAMES } from "../../src/app/machine.ts";
import { bashCompletion } from "../../src/cli/completions/bash.ts";
import { fishCompletion } from "../../src/cli/completions/fish.ts";
import {
  type CommandModel,
  modelOf,
  PLACEHOLDERS,
  placeholderOf,
  withAllBelow,
} from "../../src/cli/completions/model.ts";
import { zshCompletion } from "../../src/cli/completions/zsh.ts";
import { buildProgram } from "../../src/cli/program.ts";
import { retinue } from "../support/cli.ts";
import { needsPosix } from "../support/needs.ts";

const run = promisify(execFile);
const scratch = mkdtempSync(join(tmpdir(), "retinue-completions-"));
afterAll(() => rmSync(scratch, { recursive: true }));

/** A model with nested commands and with characters that are special in shells. */
const NASTY = 'it\'s [all] $(touch here) `too` "much": 100% \\ of it';
function toyProgram(): Command {
  const toy = new Command("toy").description(NASTY).option("-q, --quiet", NASTY);
  const hooks = toy.command("hooks").description(NASTY);
  hooks
    .command("install")
    .description(NASTY)
    .addArgument(new Argument("<provider>", NASTY).choices(["claude", "other"]))
    .option("--yes", NASTY);
  hooks.command("uninstall").addOption(new Option("-l, --level <level>", NASTY).choices(["high", "low"]));
  toy.command("take").argument("<file>").argument("[folder]").option("--for <time>", NASTY);
  return toy;
}

const PROGRAMS = { retinue: buildProgram(), toy: toyProgram() };
const models = Object.entries(PROGRAMS).map(([name, program]) => ({
  name,
  program,
  model: modelOf(program, PROVIDER_NAMES),
}));

describe("the model", () => {
  it("has every command and every option of the program", () => {
    const named = (command: Command): string[] => [
      ...command.options.flatMap(({ short, long }) => [short, long].filter((flag) => flag !== undefined)),
      ...command.commands.flatMap((child) => [child.name(), ...named(child)]),
    ];
    const modelled = (command: CommandModel): string[] => [
      ...command.options.flatMap(({ flags }) => flags),
      ...command.commands.flatMap((child) => [child.path.at(-1) ?? "", ...modelled(child)]),
    ];
    const isOurs = (word: string) => !["-h", "--help", "help"].includes(word);
    for (const { program, model } of models)
      expect(modelled(model).filter(isOurs).sort()).toEqual(named(program).sort());
    expect(modelled(modelOf(PROGRAMS.retinue, [])).length).toBeGreaterThan(30);
  });

  it("completes every position of a command line", () => {
    const places = (command: Command): string[] => [
      ...command.registeredArguments.flatMap((argument) =>
        argument.argChoices === undefined ? [argument.name()] : [],
      ),
      ...command.options.flatMap((option) => (option.argChoices === undefined ? (placeholderOf(option) ?? []) : [])),
      ...command.commands.flatMap(places),
    ];
    expect([...new Set(places(PROGRAMS.retinue))].filter((name) => !Object.hasOwn(PLACEHOLDERS, name))).toEqual([]);
  });
});

describe.each(models)("the scripts of $name", ({ name, model }) => {
  const all = withAllBelow(model);

  it("for bash contain every command and option", () => {
    const script = bashCompletion(model, name);
    for (const { path, options } of all) {
      if (path.length > 0) expect(script).toContain(`'/${path.join("/")}') at='${path.join(" ")}' ;;`);
      expect(script).toContain(
        `'${path.join(" ")}') want='words ${options.flatMap(({ flags }) => flags).join(" ")}' ;;`,
      );
    }
    expect(script).toContain(`complete -F _${name} ${name}`);
  });

  it("for zsh contain every command and option, each in its command's function", () => {
    const script = zshCompletion(model, name);
    for (const { path, options, commands } of all) {
      const own = ["", name, ...path].join("_");
      const [, body = ""] = new RegExp(`^${own}\\(\\) \\{\\n([\\s\\S]*?)^\\}`, "m").exec(script) ?? [];
      for (const { flags } of options) for (const flag of flags) expect(body).toContain(flag);
      for (const child of commands)
        expect(body).toContain(`'${child.path.at(-1)}') ${own}_${child.path.at(-1)} && ret=0 ;;`);
    }
    expect(script.startsWith(`#compdef ${name}\n`)).toBe(true);
    // With everything in quotes removed, no unclosed quote or bracket is left.
    const bare = script.replace(/^#.*/gm, "").replace(/'[^']*'|\\'|"[^"]*"/g, "");
    expect(bare).not.toMatch(/['"`]|\$\(/);
    expect([...bare.matchAll(/\{/g)].length).toBe([...bare.matchAll(/\}/g)].length);
  });

  it("for fish contain every command and option, one per line", () => {
    const [, first, ...lines] = fishCompletion(model, name).split("\n");
    expect(first).toBe(`complete -c ${name} -f`);
    const text = String.raw`'(?:[^'\\]|\\['\\])*'`;
    for (const line of lines)
      expect(line).toMatch(new RegExp(`^complete -c ${name} -n ${text}(?: -[rfF]| -[slad] (?:[\\w-]+|${text}))+$`));
    for (const { path, options, commands } of all) {
      const own = lines.filter((line) => path.every((word) => line.includes(`__fish_seen_subcommand_from ${word}`)));
      for (const { flags } of options)
        for (const flag of flags)
          expect(
            own.some((line) =>
              line.includes(flag.startsWith("--") ? ` -l ${flag.slice(2)} ` : ` -s ${flag.slice(1)} `),
            ),
          ).toBe(true);
      for (const child of commands)
        expect(own.some((line) => line.includes(` -a '${child.path.at(-1)}' -d `))).toBe(true);
    }
  });
});

describe("in bash", () => {
  beforeEach(needsPosix("bash of its own"));

  beforeAll(() => {
    for (const { name, model } of models) writeFileSync(join(scratch, `${name}.bash`), bashCompletion(model, name));
    mkdirSync(join(scratch, "files", "a folder"), { recursive: true });
    for (const file of ["a file.jsonl", "b*.jsonl"]) writeFileSync(join(scratch, "files", file), "");
  });

  /** `words` as bash splits them, also at = and at `:`. The last one is being completed. */
  async function complete(name: string, words: readonly string[]): Promise<string[]> {
    const script = `set -u; source "$1"; shift; complete -p ${name} >/dev/null || exit 3
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _${name}; printf '%s\\n' "\${COMPREPLY[@]-}"`;
    const { stdout, stderr } = await run(
      "bash",
      ["--norc", "-c", script, "bash", join(scratch, `${name}.bash`), name, ...words],
      {
        cwd: join(scratch, "files"),
      },
    );
    expect(stderr).toBe("");
    return stdout.split("\n").filter((line) => line !== "");
  }

  it.each([
    ["commands", ["tr"], ["tree"]],
    ["commands with a common prefix", ["un"], ["unlink"]],
    ["a thread as an argument", ["la"], ["latest"]],
    ["providers", ["cla"], ["claude://"]],
    ["options", ["--h"], ["--head", "--help", "--host"]],
    ["options of a command", ["ls", "--r"], ["--running"]],
    ["no option of another command", ["tree", "--r"], []],
    ["after options", ["--json", "--quiet", "tree", "--a"], ["--all"]],
    ["the value of an option", ["ls", "--provider", ""], PROVIDER_NAMES],
    ["the same after =", ["ls", "--provider", "="], PROVIDER_NAMES],
    ["the same, with a prefix", ["ls", "--provider", "=", "clau"], ["claude"]],
    ["after the value of an option", ["ls", "--provider", "claude", "--run"], ["--running"]],
    ["after a value with =", ["ls", "--provider", "=", "claude", "--run"], ["--running"]],
    ["no value for a time", ["ls", "--since", ""], []],
    ["folders", ["ls", "--cwd", ""], ["a folder"]],
    ["an argument", ["completions", ""], ["bash", "zsh", "fish"]],
    ["nothing after the last argument", ["completions", "bash", ""], []],
    ["the first of two URIs", ["link", "la"], ["latest"]],
    ["the second of two URIs", ["link", "latest", "la"], ["latest"]],
    ["after a URI, which bash splits at its colon", ["link", "claude", ":", "//abc/def", "la"], ["latest"]],
    ["nothing within a URI", ["tree", "claude", ":", "//a"], []],
    ["nothing at its colon", ["tree", "claude", ":"], []],
    ["a command's name as another's argument", ["tree", "tree", "--a"], ["--all"]],
  ])("%s", async (_what, words, expected) => {
    expect((await complete("retinue", words)).sort()).toEqual([...expected].sort());
  });

  it.each([
    ["commands", [""], ["hooks", "take", "help"]],
    ["commands of commands", ["hooks", ""], ["install", "uninstall", "help"]],
    ["their options", ["hooks", "install", "--"], ["--yes", "--help"]],
    ["their arguments", ["hooks", "install", "o"], ["other"]],
    ["values after a short option", ["hooks", "uninstall", "-l", ""], ["high", "low"]],
    ["files of any name", ["take", ""], ["a file.jsonl", "a folder", "b*.jsonl"]],
    ["a folder after them", ["take", "x", ""], ["a folder"]],
  ])("of another program: %s", async (_what, words, expected) => {
    expect((await complete("toy", words)).sort()).toEqual([...expected].sort());
  });
});

describe("retinue completions", () => {
  it.each(["bash", "zsh", "fish"])("prints the script for %s, and nothing else", async (shell) => {
    const { code, stdout, stderr } = await retinue(scratch, ["completions", shell]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain(`# ${shell} completion for retinue\n`);
    expect(stdout).toContain("completions");
    const json = await retinue(scratch, ["completions", shell, "--json"]);
    expect(JSON.parse(json.stdout)).toEqual({ shell, script: stdout.trimEnd() });
  });
  it("lists the supported shells", async () => {
    const { code, stderr } = await retinue(scratch, ["completions", "tcsh"]);
    expect({ code, reported: stderr.includes("Allowed choices are bash, zsh, fish.") }).toEqual({
      code: 2,
      reported: true,
    });
    expect((await retinue(scratch, ["completions", "--help"])).stdout).toContain("retinue completions fish > ");
  });
});
