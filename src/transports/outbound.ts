import { Agent as PlainAgent, request } from "node:http";
import { Agent as TlsAgent } from "node:https";
import type { Duplex } from "node:stream";
import { connect } from "node:tls";

/** Shorter than servers wait before they close an idle connection: one that is being closed must not be used again. */
const IDLE_MS = 4_000;
const KEPT = { keepAlive: true, timeout: IDLE_MS };

const direct = { plain: new PlainAgent(KEPT), tls: new TlsAgent(KEPT) };
const tunnels = new Map<string, TlsAgent>();

export interface Outbound {
  readonly agent: PlainAgent | TlsAgent;
  /** What stands in the request line. */
  readonly path: string;
  readonly proxyHeaders: readonly string[];
}

/** How an upstream is reached: directly, or through an HTTP proxy, which is asked for a tunnel where the upstream speaks TLS. `fresh`: no connection is used again. */
export function agentFor(upstream: URL, path: string, via: URL | null, fresh: boolean): Outbound {
  const isTls = upstream.protocol === "https:";
  const { plain, tls } = fresh ? { plain: new PlainAgent(), tls: new TlsAgent() } : direct;
  if (via === null) return { agent: isTls ? tls : plain, path, proxyHeaders: [] };
  if (!isTls) return { agent: plain, path: `${upstream.origin}${path}`, proxyHeaders: credentials(via) };
  const tunnel = (fresh ? undefined : tunnels.get(via.href)) ?? new TunnelAgent(via);
  if (!fresh) tunnels.set(via.href, tunnel);
  return { agent: tunnel, path, proxyHeaders: [] };
}

function credentials({ username, password }: URL): readonly string[] {
  if (username === "") return [];
  const word = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString("base64");
  return ["Proxy-Authorization", `Basic ${word}`];
}

class TunnelAgent extends TlsAgent {
  readonly #via: URL;

  constructor(via: URL) {
    super(KEPT);
    this.#via = via;
  }

  override createConnection(
    options: { readonly host?: string | null | undefined; readonly port?: number | string | null | undefined; readonly servername?: string | undefined },
    callback?: (error: Error | null, stream: Duplex) => void,
  ): undefined {
    const target = `${options.host}:${options.port}`;
    const asking = request({
      method: "CONNECT",
      host: this.#via.hostname,
      port: this.#via.port || 80,
      path: target,
      headers: ["Host", target, ...credentials(this.#via)],
      agent: false,
    });
    const fail = (error: Error) => callback?.(error, undefined as never);
    asking.on("connect", (response, socket) => {
      if (response.statusCode !== 200) {
        socket.destroy();
        return fail(new Error(`the proxy on the way, ${this.#via.host}, answered ${response.statusCode}`));
      }
      const secure = connect({ socket, servername: options.servername ?? options.host ?? "" });
      secure.once("secureConnect", () => callback?.(null, secure));
      secure.once("error", fail);
    });
    asking.on("error", fail);
    asking.end();
  }
}
