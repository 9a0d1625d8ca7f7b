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
export interface Steered {
  readonly uri: string;
  readonly actions: readonly Action[];
}

export type Action = "stop" | "background" | "interrupt" | "send" | "continue";

/** Whether an agent waits for a permission, by its activity. */
export const awaitsPermission = ({ status, activity }: { readonly status: string; readonly activity: string | null }) =>
  status === "running" && activity?.startsWith("waits for a permission") === true;

/** The fields of a request with their complete texts, so that nothing is approved unseen. */
export function fieldsOf({ input }: Pick<Permission, "input">): readonly (readonly [string, string])[] {
  return Object.entries(input).map(([name, value]) => [
    visible(name),
    visible(typeof value === "string" ? value : JSON.stringify(value, null, 2)),
  ]);
}

/** What can be done with this agent: some actions are for the thread, others for the agents below it. */
export function actionsFor(uri: string, threads: readonly Steered[]): readonly Action[] {
  const thread = threads.find((one) => uri === one.uri || uri.startsWith(`${one.uri}/`));
  const isThread = thread?.uri === uri;
  return (thread?.actions ?? []).filter((action) => isThread === (action === "interrupt" || action === "send"));
}
