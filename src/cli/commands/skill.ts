import { Failure } from "../../app/failure.ts";
import { planSkill, SKILL, SKILLED } from "../../app/skill.ts";
import { printJson } from "../../core/tools/json.ts";
import type { Context } from "../context.ts";
import { showChange } from "../render/change.ts";
import { isConfirmed } from "../render/confirm.ts";

export interface SkillOptions {
  readonly install?: boolean;
  readonly yes?: boolean;
  /** Replaces an edited file without asking. */
  readonly force?: boolean;
}

/** `retinue skill`: prints the skill, or installs it for a product after asking. */
export async function skill(context: Context, provider: string | undefined, options: SkillOptions): Promise<void> {
  const { terminal, env, json } = context;
  if (options.install !== true) return terminal.out(json ? printJson({ skill: SKILL }, 2) : SKILL.trimEnd());
  if (provider === undefined)
    throw new Failure("usage", "--install needs a product", [`write retinue skill ${SKILLED[0]} --install`]);
  const { path, before, isChanged, isEdited, apply } = planSkill(provider, env);
  const report = (done: boolean) => {
    if (json) terminal.out(printJson({ path, changed: isChanged, edited: isEdited, done }, 2));
  };
  if (!isChanged) {
    report(false);
    return terminal.notify(`the skill is already installed in ${path}`);
  }
  if (!json) showChange(terminal, { path, before, after: SKILL });
  if (isEdited && options.yes === true && options.force !== true) {
    report(false);
    throw new Failure("failed", `${path} was edited, so it was not replaced`, [
      `write retinue skill ${provider} --install --force to replace it with the skill of this version`,
    ]);
  }
  const question =
    before === null ? `write ${path}?` : isEdited ? `${path} was edited. replace it?` : `replace ${path}?`;
  if (options.yes !== true && options.force !== true && !(await isConfirmed(context, question))) {
    report(false);
    return terminal.notify("nothing was changed");
  }
  apply();
  report(true);
  if (!json) terminal.out(`wrote ${path}`);
}
