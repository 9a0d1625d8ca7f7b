import { type CommandModel, type OptionModel, quoted, type Values, withAllBelow } from "./model.ts";

/** One function per command. Works both as a file in fpath and when sourced. */
export function zshCompletion(program: CommandModel, name: string): string {
  const functionOf = (command: CommandModel) =>
    ["", name, ...command.path.map((word) => word.replaceAll("-", "_"))].join("_");
  const body = (command: CommandModel): string => {
    const options = command.options.map(optionSpec);
    if (command.commands.length === 0) {
      const places = command.arguments.map(({ name: place, values }, i) =>
        quoted(`${i + 1}:${escaped(place)}:${action(values)}`),
      );
      return `${functionOf(command)}() {\n  ${["_arguments", ...options, ...places].join(" \\\n    ")}\n}`;
    }
    const [first] = command.arguments;
    const words = first?.values.is === "words" ? first.values.words : [];
    const described = command.commands.map((child) =>
      quoted(`${escaped(child.path.at(-1) ?? "")}:${child.description.replaceAll("\\", "\\\\")}`),
    );
    const calls = command.commands.map(
      (child) => `${quoted(child.path.at(-1) ?? "")}) ${functionOf(child)} && ret=0 ;;`,
    );
    return `${functionOf(command)}() {
  local curcontext="$curcontext" context state state_descr line ret=1
  typeset -A opt_args
  ${["_arguments -C", ...options, quoted("1: :->first"), quoted("*:: :->more")].join(" \\\n    ")} && ret=0
  case $state in
    first)
      local -a commands=(
        ${described.join("\n        ")}
      )
      _describe -t commands command commands && ret=0
      ${words.length === 0 ? "" : `compadd -S '' -- ${words.map(quoted).join(" ")} && ret=0`}
      ;;
    more)
      case $words[1] in
        ${calls.join("\n        ")}
      esac
      ;;
  esac
  return ret
}`;
  };
  return `#compdef ${name}
# zsh completion for ${name}
${withAllBelow(program).map(body).join("\n")}
if [[ $funcstack[1] == _${name} ]]; then
  _${name} "$@"
else
  compdef _${name} ${name}
fi`;
}

function optionSpec({ flags, description, value }: OptionModel): string {
  const [first = "", ...more] = flags;
  const spec = `[${description.replace(/[[\]\\]/g, "\\$&")}]${value === null ? "" : `:${escaped(value.name)}:${action(value.values)}`}`;
  const takes = (flag: string) => (value !== null && flag.startsWith("--") ? `${flag}=` : flag);
  if (more.length === 0) return quoted(`${takes(first)}${spec}`);
  return `${quoted(`(${flags.join(" ")})`)}{${flags.map(takes).join(",")}}${quoted(spec)}`;
}

function action(values: Values): string {
  switch (values.is) {
    case "files":
      return "_files";
    case "folders":
      return "_files -/";
    case "nothing":
      return " ";
    case "words":
      // No trailing space, because the URI continues after the scheme.
      return escaped(
        values.words.some((word) => word.endsWith("://"))
          ? `compadd -S "" -- ${values.words.join(" ")}`
          : `(${values.words.join(" ")})`,
      );
    default:
      return values satisfies never;
  }
}

const escaped = (text: string) => text.replaceAll(":", "\\:");
