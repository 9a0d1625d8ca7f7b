import { Agent as PlainAgent, request } from "node:http";
import { Agent as TlsAgent } from "node:https";
import type { Duplex } from "node:stream";
import { connect } from "node:tls";

/** Shorter than the idle timeout of servers, so that a closing connection is not reused. */
const IDLE_MS = 4_000;
const KEEP_ALIVE = { keepAlive: true, timeout: IDLE_MS };

const direct = { plain: new PlainAgent(KEEP_ALIVE), tls: new TlsAgent(KEEP_ALIVE) };
/** By the URL of the HTTP proxy. */
const tunnels = new Map<string, TlsAgent>();

export interface Outbound {
  readonly agent: PlainAgent | TlsAgent;
  /** The request target. */
  readonly path: string;
  readonly proxyHeaders: readonly string[];
}

/**
 * How to reach an upstream: directly, or through an HTTP proxy, with a CONNECT tunnel for TLS. `fresh`: do not reuse a
 * connection.
 */
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
  const credentials = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString("base64");
  return ["Proxy-Authorization", `Basic ${credentials}`];
}

/** Opens TLS connections through a CONNECT tunnel of an HTTP proxy. */
class TunnelAgent extends TlsAgent {
  readonly #via: URL;

  constructor(via: URL) {
    super(KEEP_ALIVE);
    this.#via = via;
  }

  override createConnection(
    options: {
      readonly host?: string | null | undefined;
      readonly port?: number | string | null | undefined;
      readonly servername?: string | undefined;
    },
    callback?: (error: Error | null, stream: Duplex) => void,
  ): undefined {
    const target = `${options.host}:${options.port}`;
    const tunnel = request({
      method: "CONNECT",
      host: this.#via.hostname,
      port: this.#via.port || 80,
      path: target,
      headers: ["Host", target, ...credentials(this.#via)],
      agent: false,
    });
    const fail = (error: Error) => callback?.(error, undefined as never);
    tunnel.on("connect", (response, socket) => {
      if (response.statusCode !== 200) {
        socket.destroy();
        return fail(new Error(`the HTTP proxy ${this.#via.host} returned ${response.statusCode}`));
      }
      const secure = connect({ socket, servername: options.servername ?? options.host ?? "" });
      secure.once("secureConnect", () => callback?.(null, secure));
      secure.once("error", fail);
    });
    tunnel.on("error", fail);
    tunnel.end();
  }
}
