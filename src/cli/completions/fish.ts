import { type CommandModel, type OptionModel, type Values, withAllBelow } from "./model.ts";

export function fishCompletion(program: CommandModel, name: string): string {
  const lines = withAllBelow(program).flatMap((command) => {
    const when = ["complete", "-c", name, "-n", quoted(condition(command))];
    const below = command.commands.map((child) => [
      ...when,
      "-a",
      quoted(child.path.at(-1) ?? ""),
      "-d",
      quoted(child.description),
    ]);
    const places = command.arguments
      .filter(({ values }) => values.is !== "nothing")
      .map(({ values }) => [...when, ...offered(values)]);
    return [...below, ...places, ...command.options.map((option) => [...when, ...optionArguments(option)])];
  });
  return [
    `# fish completion for ${name}`,
    // No file names, except for commands that take a file.
    `complete -c ${name} -f`,
    ...new Set(lines.map((words) => words.join(" "))),
  ].join("\n");
}

/** Matches when all words of the command's path are present and none of its sub-commands. */
function condition({ path, commands }: CommandModel): string {
  const seen = path.map((word) => `__fish_seen_subcommand_from ${word}`);
  const further = commands.map((child) => child.path.at(-1) ?? "");
  return [...seen, ...(further.length === 0 ? [] : [`not __fish_seen_subcommand_from ${further.join(" ")}`])].join(
    "; and ",
  );
}

function optionArguments({ flags, description, value }: OptionModel): string[] {
  const names = flags.flatMap((flag) => (flag.startsWith("--") ? ["-l", flag.slice(2)] : ["-s", flag.slice(1)]));
  return [...names, ...(value === null ? [] : ["-r", ...offered(value.values)]), "-d", quoted(description)];
}

function offered(values: Values): string[] {
  switch (values.is) {
    case "files":
      return ["-F"];
    case "folders":
      return ["-f", "-a", quoted("(__fish_complete_directories)")];
    case "nothing":
      return ["-f"];
    case "words":
      return ["-f", "-a", quoted(values.words.join(" "))];
    default:
      return values satisfies never;
  }
}

/** The only two characters that fish escapes in single quotes. */
const quoted = (text: string) => `'${text.replace(/['\\]/g, "\\$&")}'`;
