import { type Argument, type Command, Help, type Option } from "commander";
import { LIMIT_NAMES } from "../../core/guard/limits.ts";

/** The values that may be completed at one position, without reading any record. */
export type Values =
  | { readonly is: "files" | "folders" | "nothing" }
  | { readonly is: "words"; readonly words: readonly string[] };

export interface OptionModel {
  /** The short form first, if there is one. */
  readonly flags: readonly string[];
  readonly description: string;
  /** Null if the option takes no value. */
  readonly value: { readonly name: string; readonly values: Values } | null;
}

export interface CommandModel {
  /** The words of the command; empty for the program itself. */
  readonly path: readonly string[];
  readonly description: string;
  readonly options: readonly OptionModel[];
  readonly arguments: readonly { readonly name: string; readonly values: Values }[];
  /** Sub-commands. */
  readonly commands: readonly CommandModel[];
}

/** What to complete for each placeholder in a command's usage. A test requires an entry for every placeholder. */
export const PLACEHOLDERS: Readonly<Record<string, "files" | "folders" | "uri" | "limit" | "nothing">> = {
  file: "files",
  folder: "folders",
  uri: "uri",
  child: "uri",
  parent: "uri",
  left: "uri",
  right: "uri",
  address: "nothing",
  server: "nothing",
  url: "nothing",
  id: "nothing",
  name: "nothing",
  scope: "nothing",
  time: "nothing",
  n: "nothing",
  words: "nothing",
  command: "files",
  args: "nothing",
  message: "nothing",
  event: "nothing",
  limit: "limit",
};

/** Derived from the program itself, so that no command or option is missing. */
export function modelOf(program: Command, providers: readonly string[]): CommandModel {
  const help = new Help();
  const uris = ["latest", ...providers.map((name) => `${name}://`)];

  const valuesOf = (name: string, choices: readonly string[] | undefined): Values => {
    if (choices !== undefined) return { is: "words", words: choices };
    const is = PLACEHOLDERS[name] ?? "nothing";
    if (is === "uri") return { is: "words", words: uris };
    return is === "limit" ? { is: "words", words: LIMIT_NAMES.map((limit) => `${limit}=`) } : { is };
  };
  const optionOf = (option: Option): OptionModel => {
    const name = placeholderOf(option);
    return {
      flags: [option.short, option.long].filter((flag) => flag !== undefined),
      description: option.description,
      value: name === null ? null : { name, values: valuesOf(name, option.argChoices) },
    };
  };
  const argumentOf = (argument: Argument) => ({
    name: argument.name(),
    values: valuesOf(argument.name(), argument.argChoices),
  });
  const commandOf = (command: Command, path: readonly string[]): CommandModel => ({
    path,
    description: command.description(),
    options: help.visibleOptions(command).map(optionOf),
    arguments: command.registeredArguments.map(argumentOf),
    commands: help.visibleCommands(command).map((child) => commandOf(child, [...path, child.name()])),
  });
  return commandOf(program, []);
}

export function placeholderOf(option: Option): string | null {
  return /[<[]([^\]>.]+)/.exec(option.flags)?.[1] ?? null;
}

/** The command and all its sub-commands. */
export function withAllBelow(command: CommandModel): CommandModel[] {
  return [command, ...command.commands.flatMap(withAllBelow)];
}

/** Single quotes: no character is special to Bourne shells inside them. */
export const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
