import { type CommandModel, quoted, type Values, withAllBelow } from "./model.ts";

/** Works with bash 3.2 (macOS) and without the bash-completion package. */
export function bashCompletion(program: CommandModel, name: string): string {
  const all = withAllBelow(program);
  const keyOf = (command: CommandModel) => command.path.join(" ");
  const cases = (lines: readonly string[]) => lines.map((line) => `        ${line} ;;`).join("\n");

  const steps = all
    .filter((command) => command.path.length > 0)
    .map((command) => `${quoted(`/${command.path.join("/")}`)}) at=${quoted(keyOf(command))}`);
  const optionValues = all.flatMap((command) =>
    command.options.flatMap(({ flags, value }) =>
      value === null
        ? []
        : [
            `${flags.map((flag) => quoted(`${keyOf(command)} ${flag}`)).join(" | ")}) want=${quoted(wanted(value.values))}`,
          ],
    ),
  );
  const options = all.map(
    (command) =>
      `${quoted(keyOf(command))}) want=${quoted(`words ${command.options.flatMap(({ flags }) => flags).join(" ")}`)}`,
  );
  const places = all.flatMap((command) => {
    const names = command.commands.map(({ path }) => path.at(-1) ?? "");
    const values = command.arguments.map(({ values }) => values);
    const [first = { is: "nothing" } as const, ...more] = values;
    const words = [...names, ...(first.is === "words" ? first.words : [])];
    const firstWanted = names.length > 0 ? `words ${words.join(" ")}` : wanted(first);
    return [firstWanted, ...more.map(wanted)].map(
      (want, i) => `${quoted(`${keyOf(command)} ${i}`)}) want=${quoted(want)}`,
    );
  });

  return `# bash completion for ${name}
_${name}() {
  local at='' want='' given=0 cur=\${COMP_WORDS[COMP_CWORD]} word i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    # Bash splits words at = and :, so the value after = and the rest of a URI are separate words.
    [[ $word == '=' ]] && continue
    if [[ $word == ':' ]]; then
      ((i + 1 < COMP_CWORD)) || return 0
      ((i++))
      continue
    fi
    if [[ -n $want ]]; then
      want=''
      continue
    fi
    case "$at $word" in
${cases(optionValues)}
        *' '-*) ;;
        *)
          if ((given == 0)); then
            case "\${at:+/}\${at// //}/$word" in
${cases(steps).replace(/^/gm, "      ")}
              *) given=1 ;;
            esac
          else
            ((given++))
          fi
          ;;
    esac
  done
  if [[ $cur == ':' || ( $cur == '=' && -z $want ) ]]; then return 0; fi
  [[ $cur == '=' ]] && cur=''
  if [[ -z $want && $cur == -* ]]; then
    case "$at" in
${cases(options)}
    esac
  elif [[ -z $want ]]; then
    case "$at $given" in
${cases(places)}
    esac
  fi
  # Read line by line, because file names may contain spaces and asterisks.
  while IFS= read -r word; do
    COMPREPLY+=("$word")
  done < <(
    case "$want" in
      'words '*) compgen -W "\${want#words }" -- "$cur" ;;
      files) compgen -f -- "$cur" ;;
      folders) compgen -d -- "$cur" ;;
    esac
  )
  if [[ $want == files || $want == folders ]]; then compopt -o filenames 2>/dev/null; fi
  # The rest of the URI follows.
  if [[ \${#COMPREPLY[@]} -eq 1 && \${COMPREPLY[0]} == *:// ]]; then compopt -o nospace 2>/dev/null; fi
  return 0
}
complete -F _${name} ${name}`;
}

const wanted = (values: Values) => (values.is === "words" ? `words ${values.words.join(" ")}` : values.is);
