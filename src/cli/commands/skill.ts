import { Failure } from "../../app/failure.ts";
import { installSkill, SKILL, SKILLED, skillFile } from "../../app/skill.ts";
import { printJson } from "../../core/tools/json.ts";
import type { Context } from "../context.ts";
import { isConfirmed } from "../render/confirm.ts";

export interface SkillOptions {
  readonly install?: boolean;
  readonly yes?: boolean;
}

/** `retinue skill`: prints the skill, or installs it for a product after asking. */
export async function skill(context: Context, provider: string | undefined, options: SkillOptions): Promise<void> {
  const { terminal, env, json } = context;
  if (options.install !== true) return terminal.out(json ? printJson({ skill: SKILL }, 2) : SKILL.trimEnd());
  if (provider === undefined)
    throw new Failure("usage", "--install needs a product", [`write retinue skill ${SKILLED[0]} --install`]);
  const { path, before } = skillFile(provider, env);
  const isChanged = before !== SKILL;
  const report = (done: boolean) => {
    if (json) terminal.out(printJson({ path, changed: isChanged, done }, 2));
  };
  if (!isChanged) {
    report(false);
    return terminal.notify(`the skill is already installed in ${path}`);
  }
  if (!json) terminal.out(SKILL.trimEnd());
  const question = before === null ? `write this to ${path}?` : `replace ${path} with this?`;
  if (options.yes !== true && !(await isConfirmed(context, question))) {
    report(false);
    return terminal.notify("nothing was changed");
  }
  installSkill(path);
  report(true);
  if (!json) terminal.out(`wrote ${path}`);
}
