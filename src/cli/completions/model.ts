import { type Argument, type Command, Help, type Option } from "commander";

/** What may be written at a place of the command line, as far as it can be told without looking at any record. */
export type Values = { readonly is: "files" | "folders" | "nothing" } | { readonly is: "words"; readonly words: readonly string[] };

export interface OptionModel {
  /** Short form first, where there is one. */
  readonly flags: readonly string[];
  readonly description: string;
  /** Null for one that takes no value. */
  readonly value: { readonly name: string; readonly values: Values } | null;
}

export interface CommandModel {
  /** The words that call it; none for the program itself. */
  readonly path: readonly string[];
  readonly description: string;
  readonly options: readonly OptionModel[];
  readonly arguments: readonly { readonly name: string; readonly values: Values }[];
  /** One word further. */
  readonly commands: readonly CommandModel[];
}

/**
 * What the placeholder in a command's usage says about the words that may stand there.
 * A new placeholder must be entered here: a test asks for it.
 */
export const PLACEHOLDERS: Readonly<Record<string, "files" | "folders" | "uri" | "nothing">> = {
  file: "files",
  folder: "folders",
  uri: "uri",
  child: "uri",
  parent: "uri",
  address: "nothing",
  server: "nothing",
  url: "nothing",
  time: "nothing",
  n: "nothing",
  words: "nothing",
  command: "files",
};

/** Taken from the program itself, so that no command and no option can be missing. */
export function modelOf(program: Command, providers: readonly string[]): CommandModel {
  const help = new Help();
  const uris = ["latest", ...providers.map((name) => `${name}://`)];

  const valuesOf = (name: string, choices: readonly string[] | undefined): Values => {
    if (choices !== undefined) return { is: "words", words: choices };
    const is = PLACEHOLDERS[name] ?? "nothing";
    return is === "uri" ? { is: "words", words: uris } : { is };
  };
  const optionOf = (option: Option): OptionModel => {
    const name = placeholderOf(option);
    return {
      flags: [option.short, option.long].filter((flag) => flag !== undefined),
      description: option.description,
      value: name === null ? null : { name, values: valuesOf(name, option.argChoices) },
    };
  };
  const argumentOf = (argument: Argument) => ({ name: argument.name(), values: valuesOf(argument.name(), argument.argChoices) });
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

/** The command and everything below it. */
export function withAllBelow(command: CommandModel): CommandModel[] {
  return [command, ...command.commands.flatMap(withAllBelow)];
}

/** In single quotes, in which nothing means anything to a shell of the Bourne family. */
export const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
