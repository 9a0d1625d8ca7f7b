import type { Command } from "commander";
import { PROVIDER_NAMES } from "../../app/machine.ts";
import { printJson } from "../../core/tools/json.ts";
import { bashCompletion } from "../completions/bash.ts";
import { fishCompletion } from "../completions/fish.ts";
import { type CommandModel, modelOf } from "../completions/model.ts";
import { zshCompletion } from "../completions/zsh.ts";
import type { Context } from "../context.ts";

const SCRIPTS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const satisfies Record<
  string,
  (program: CommandModel, name: string) => string
>;
type Shell = keyof typeof SCRIPTS;
export const SHELLS = Object.keys(SCRIPTS) as Shell[];

/** The folder that each shell loads completions from, with the command that installs them. */
export const COMPLETIONS_HELP = `
Save the script where your shell loads completions from:
  retinue completions bash > ~/.local/share/bash-completion/completions/retinue
  retinue completions zsh  > "\${fpath[1]}/_retinue"
  retinue completions fish > ~/.config/fish/completions/retinue.fish
or load it when a shell starts: source <(retinue completions bash)`;

export function completions(context: Context, program: Command, shell: Shell): void {
  const script = SCRIPTS[shell](modelOf(program, PROVIDER_NAMES), program.name());
  context.terminal.out(context.json ? printJson({ shell, script }, 2) : script);
}
