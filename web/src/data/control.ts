import { visible } from "./text.ts";

/** `GET /api/permissions` */
export interface Permission {
  readonly id: string;
  readonly uri: string | null;
  readonly tool: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly callId: string | null;
  readonly replies: readonly Reply[];
  readonly always: readonly string[];
  readonly askedAt: string;
}

export type Reply = "once" | "always" | "reject";

/** `GET /api/steering` */
export interface SteerableThread {
  readonly uri: string;
  readonly actions: readonly Action[];
}

export type Action = "stop" | "background" | "interrupt" | "send" | "continue";

/** Recognised by the activity, the only field of a record that states it. */
export const awaitsPermission = ({ status, activity }: { readonly status: string; readonly activity: string | null }) =>
  status === "running" && activity?.startsWith("waits for a permission") === true;

/** The fields of a permission request. Never truncated, so that nothing is approved unseen. */
export function fieldsOf({ input }: Pick<Permission, "input">): readonly (readonly [string, string])[] {
  return Object.entries(input).map(([name, value]) => [
    visible(name),
    visible(typeof value === "string" ? value : JSON.stringify(value, null, 2)),
  ]);
}

/** The actions for this agent: `interrupt` and `send` are for the thread itself, the others for agents below it. */
export function actionsFor(uri: string, threads: readonly SteerableThread[]): readonly Action[] {
  const thread = threads.find((one) => uri === one.uri || uri.startsWith(`${one.uri}/`));
  const isThread = thread?.uri === uri;
  return (thread?.actions ?? []).filter((action) => isThread === (action === "interrupt" || action === "send"));
}
