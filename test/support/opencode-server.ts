/**
 * A server on loopback that replays the stream of a real one, and responds to requests as it did. Its connections can
 * be cut, and it can fall silent, fail and come back; frames sent in the meantime are lost, as with the real one.
 */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { FIXTURES, type RecordedThread } from "./fixtures.ts";

export interface Followed {
  readonly name: string;
  readonly frames: readonly string[];
  readonly rest: Readonly<Record<string, unknown>>;
  readonly threads: readonly RecordedThread[];
}

export function followed(name: string): Followed {
  const folder = join(FIXTURES, "opencode", name, "server");
  const lines = readFileSync(join(folder, "frames.jsonl"), "utf8").trimEnd().split("\n");
  const { threads } = JSON.parse(readFileSync(join(folder, "truth.json"), "utf8")) as { threads: RecordedThread[] };
  const rest = JSON.parse(readFileSync(join(folder, "rest.json"), "utf8")) as Record<string, unknown>;
  return {
    name,
    frames: lines.map((line) => JSON.stringify((JSON.parse(line) as { data: unknown }).data)),
    rest,
    threads,
  };
}

export class FakeServer {
  readonly requests: string[] = [];
  /** Every password that it received. */
  readonly authorizations: string[] = [];
  readonly #server: Server;
  readonly #streams = new Set<ServerResponse>();
  /** Responses by path; a function may depend on the progress of the replay. A string is sent as a web page. */
  respond: (path: string) => { status: number; body: unknown } | string | null = () => null;
  password: string | null = null;
  /** The path of the stream; all others are plain requests. */
  stream = "/global/event";
  /** Ends every stream after its first frame. */
  endsAtOnce = false;
  connections = 0;
  /** The time of each connection. */
  readonly connectedMs: number[] = [];

  constructor() {
    this.#server = createServer((request, response) => this.#answer(request, response));
  }

  async start(port = 0): Promise<string> {
    this.#server.listen(port, "127.0.0.1");
    await once(this.#server, "listening");
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  get listeners(): number {
    return this.#streams.size;
  }

  #answer(request: IncomingMessage, response: ServerResponse) {
    const path = request.url ?? "";
    this.requests.push(path);
    if (request.headers.authorization !== undefined) this.authorizations.push(request.headers.authorization);
    const basic = `Basic ${Buffer.from(`opencode:${this.password}`).toString("base64")}`;
    if (this.password !== null && request.headers.authorization !== basic) {
      response.writeHead(401, { "WWW-Authenticate": 'Basic realm="Secure Area"' }).end();
      return;
    }
    if (path === this.stream) {
      this.connections += 1;
      this.connectedMs.push(performance.now());
      response.writeHead(200, { "Content-Type": "text/event-stream" });
      const greeting = { id: `evt_${this.connections}`, type: "server.connected", properties: {} };
      response.write(`data: ${JSON.stringify(this.stream === "/event" ? greeting : { payload: greeting })}\n\n`);
      if (this.endsAtOnce) return void response.end();
      this.#streams.add(response);
      response.on("close", () => this.#streams.delete(response));
      return;
    }
    const answer = this.respond(path);
    if (typeof answer === "string") {
      response.writeHead(200, { "Content-Type": "text/html" }).end(answer);
      return;
    }
    const { status, body } = answer ?? { status: 404, body: { name: "NotFoundError" } };
    response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(body));
  }

  send(frame: string): void {
    for (const stream of this.#streams) stream.write(`data: ${frame}\n\n`);
  }

  /** Cuts in the middle of a frame if a part of it is given. */
  cut(part = ""): void {
    for (const stream of this.#streams) {
      if (part !== "") stream.write(`data: ${part}`);
      stream.destroy();
    }
    this.#streams.clear();
  }

  async stop(): Promise<void> {
    this.cut();
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }
}

/** The responses of a recording: the state at its end. */
export function recordedResponses(rest: Followed["rest"], prefix = ""): FakeServer["respond"] {
  const found = (name: string) => rest[`${prefix}${name}`];
  const sessions = (found("sessions") ?? []) as { id: string }[];
  const known = new Map(
    Object.keys(rest)
      .flatMap((name) => (name.startsWith(`${prefix}children.`) ? (rest[name] as { id: string }[]) : []))
      .map((s) => [s.id, s]),
  );
  for (const session of sessions) known.set(session.id, session);
  return (path) => {
    const [route = ""] = path.split("?");
    const [, id = "", what] = /^\/session\/(ses_\w+)(?:\/(\w+))?$/.exec(route) ?? [];
    const body =
      route === "/session"
        ? sessions
        : route === "/session/status"
          ? {}
          : route === "/permission" || route === "/question"
            ? []
            : what === "message"
              ? found(`messages.${id}`)
              : what === "children"
                ? found(`children.${id}`)
                : known.get(id);
    return body === undefined ? null : { status: 200, body };
  };
}
