import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { linkSync, readFileSync, renameSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { type Clients, systemClients, unknownClients } from "../transports/clients.ts";
import { writePrivate } from "../transports/private.ts";
import { type Env, madeHome } from "./home.ts";

export { type Clients, unknownClients };

/** `own`: this user's, or root's. */
export type Whose = "own" | "other" | "unknown";

export const newToken = () => randomBytes(24).toString("base64url");

/** Decides whose connections a port of ours takes: this user's, and those that know the token. */
export class Access {
  readonly token: string;
  readonly #clients: Clients;
  /** Asked once a connection. */
  readonly #known = new WeakMap<Socket, Whose>();

  constructor(token: string, clients: Clients = systemClients()) {
    this.token = token;
    this.#clients = clients;
  }

  async whose(socket: Socket): Promise<Whose> {
    const known = this.#known.get(socket);
    if (known !== undefined) return known;
    const whose = whoseIs(await this.#clients.userOf(socket));
    if (whose !== "unknown") this.#known.set(socket, whose);
    return whose;
  }

  isToken(given: string): boolean {
    return isSame(given, this.token);
  }

  /** Whether this system tells whose a connection to this address is: tried with one of our own. */
  async tells(host: string, port: number): Promise<boolean> {
    const socket = connect({ host, port });
    try {
      await new Promise((resolve, reject) => socket.once("connect", resolve).once("error", reject));
      const { localAddress, localPort, remoteAddress, remotePort } = socket;
      const seen = { remoteAddress: localAddress, remotePort: localPort, localAddress: remoteAddress, localPort: remotePort };
      return whoseIs(await this.#clients.userOf(seen)) === "own";
    } catch {
      // Nobody listens there any more.
      return false;
    } finally {
      socket.destroy();
    }
  }
}

function whoseIs(user: number | null): Whose {
  if (user === null) return "unknown";
  return user === 0 || user === process.getuid?.() ? "own" : "other";
}

/** Takes as long for a near miss as for a far one. */
export function isSame(given: string, token: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(given), digest(token));
}

/** The token of this home, made on first use; a new one each time where nothing can be kept. */
export function keptToken(env: Env, name: "token" | "proxy-token"): string {
  try {
    const path = join(madeHome(env), name);
    const draft = `${path}.${randomBytes(4).toString("hex")}`;
    const kept = tokenIn(path);
    if (kept !== null) return kept;
    writePrivate(draft, `${newToken()}\n`, "wx");
    try {
      // Appears whole, and only where another process was not faster.
      linkSync(draft, path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      if (tokenIn(path) === null) renameSync(draft, path);
    } finally {
      rmSync(draft, { force: true });
    }
    return tokenIn(path) ?? newToken();
  } catch {
    // A home that cannot be written to.
    return newToken();
  }
}

/** Null for a file that is missing or cut off. */
function tokenIn(path: string): string | null {
  try {
    return /^[\w-]{32}$/m.exec(readFileSync(path, "utf8"))?.[0] ?? null;
  } catch {
    return null;
  }
}

const MAX_LINKS = 64;

/** Codes that let one browser in, once: an address is seen in lists of processes and kept in histories. */
export class OneTimeCodes {
  readonly #codes = new Set<string>();

  issue(): string {
    const code = newToken();
    this.#codes.add(code);
    for (const oldest of this.#codes) {
      if (this.#codes.size <= MAX_LINKS) break;
      this.#codes.delete(oldest);
    }
    return code;
  }

  redeem(code: string): boolean {
    return this.#codes.delete(code);
  }
}
