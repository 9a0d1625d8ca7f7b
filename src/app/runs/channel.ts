import type { Control, ControlMessage } from "../../core/ports/control.ts";
import type { Provider } from "../../core/ports/provider.ts";
import type { Wrapped } from "../../transports/wrapped.ts";
import { Idle } from "./idle.ts";
import { AnnouncedCalls, type InterceptionOptions } from "./interception.ts";
import { NotSupported } from "./not-supported.ts";
import { type PermissionHandler, RunPermissions } from "./permissions.ts";

export interface ChannelOptions {
  /** Decides about tool calls. */
  readonly interception?: InterceptionOptions | undefined;
  /** Called when the run only waits for input. */
  readonly onIdle?: (() => void) | undefined;
  /** Answers permission requests; without it they wait until `permissions.answer`. */
  readonly onPermission?: PermissionHandler | undefined;
}

export const notWaiting = (callId: string) =>
  new Error(`the call ${callId} does not wait for a decision: it has run, or was decided before`);

export type Action = "stop" | "background" | "interrupt" | "send" | "continue";

interface ChannelEnds {
  readonly provider: Provider;
  readonly control: Control;
  readonly input: Pick<Wrapped, "write" | "setFinalInput" | "endInput">;
  readonly ended: Promise<unknown>;
  /** The id of the thread, once known. */
  readonly session: Promise<string | null>;
  /** Records what is answered, like the lines of the product. */
  readonly record: (line: string) => void;
}

/** The stdin of a run that retinue controls: messages, tool calls that wait for a decision, permission requests. */
export class Channel {
  readonly permissions: RunPermissions;
  readonly #control: Control;
  readonly #product: string;
  readonly #input: ChannelEnds["input"];
  readonly #ended: Promise<unknown>;
  readonly #idle: Idle;
  readonly #calls: AnnouncedCalls | null;
  readonly #unacknowledged = new Map<string, (error: string | null) => void>();
  #isClosed = false;

  constructor({ provider, control, input, ended, session, record }: ChannelEnds, options: ChannelOptions) {
    this.#control = control;
    this.#product = provider.product;
    this.#input = input;
    this.#ended = ended;
    this.#idle = new Idle(control.track(), options.onIdle ?? (() => {}));
    const write = (line: string) => {
      record(line);
      input.write(line);
    };
    this.permissions = new RunPermissions(
      provider.name,
      control.permissions ?? null,
      write,
      session,
      options.onPermission,
    );
    const { interception } = options;
    this.#calls =
      control.interception === undefined || interception === undefined || interception.interceptors.length === 0
        ? null
        : new AnnouncedCalls(provider.name, control.interception, interception, input, record);
    this.#calls?.begin();
  }

  /** What the product supports. */
  get actions(): readonly Action[] {
    const { stop, background, interrupt, continueAgent } = this.#control;
    const supported = { stop, background, interrupt, send: true, continue: continueAgent };
    return (Object.keys(supported) as Action[]).filter((action) => supported[action] !== undefined);
  }

  get isIdle(): boolean {
    return this.#idle.isIdle;
  }

  onLine(line: string): void {
    this.#calls?.onLine(line);
    this.permissions.onLine(line);
    this.#idle.onLine(line);
    const response = this.#control.responseIn(line);
    if (response === null) return;
    this.#unacknowledged.get(response.id)?.(response.error);
    this.#unacknowledged.delete(response.id);
  }

  /** Closes stdin: the run ends when its work is done. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#calls?.end();
    this.#input.endInput();
  }

  send = (text: string) => this.#send("receive another message", this.#control.send(text));
  interrupt = () => this.#send("interrupt its turn", this.#control.interrupt?.());
  stop = (agent: string) => this.#send("stop an agent", this.#control.stop?.(agent));
  continueAgent = (agent: string, text: string) =>
    this.#send("continue an agent", this.#control.continueAgent?.(agent, text));

  background(agent: string): Promise<void> {
    const call = this.#idle.tracker.spawnCall(agent);
    if (call === null && this.#control.background !== undefined)
      return Promise.reject(new Error(`the spawn call of ${agent} is unknown`));
    return this.#send("move an agent to the background", this.#control.background?.(call ?? ""));
  }

  async injectToolResult(callId: string, content: string): Promise<void> {
    if (this.#calls === null) throw new NotSupported(this.#product, "accept a tool result without onToolCall");
    if (!this.#calls.deny(callId, content)) throw notWaiting(callId);
  }

  /** Resolves when the product has accepted the request; rejects with its error. */
  async #send(what: string, message: ControlMessage | undefined): Promise<void> {
    if (message === undefined) throw new NotSupported(this.#product, what);
    const { id } = message;
    const acknowledged =
      id === null ? null : new Promise<string | null>((resolve) => this.#unacknowledged.set(id, resolve));
    // A message begins a turn; a request does not.
    if (id === null) this.#idle.sent();
    if (this.#isClosed || !this.#input.write(message.line))
      throw new Error(`${this.#product} no longer reads its input`);
    const error = acknowledged === null ? null : await Promise.race([acknowledged, this.#ended.then(() => null)]);
    if (error !== null) throw new Error(`${this.#product} cannot ${what}: ${error}`);
  }
}
