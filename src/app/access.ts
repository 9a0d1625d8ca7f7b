import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { linkSync, renameSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { MAX_NOTE } from "../core/tools/limits.ts";
import { type Clients, systemClients, unknownClients } from "../transports/clients.ts";
import { writePrivate } from "../transports/private.ts";
import { readText } from "../transports/regular.ts";
import { type Env, madeHome } from "./home.ts";

export { type Clients, unknownClients };

/** Whose process is at the other end of a connection. `own`: this user's or root's. */
export type Owner = "own" | "other" | "unknown";

export const newToken = () => randomBytes(24).toString("base64url");

/** Decides which connections a server accepts: those of this user, and those that send the token. */
export class Access {
  readonly token: string;
  readonly #clients: Clients;
  /** Owners by connection; each is looked up once. */
  readonly #known = new WeakMap<Socket, Owner>();

  constructor(token: string, clients: Clients = systemClients()) {
    this.token = token;
    this.#clients = clients;
  }

  async ownerOf(socket: Socket): Promise<Owner> {
    const known = this.#known.get(socket);
    if (known !== undefined) return known;
    const owner = ownerOfUser(await this.#clients.userOf(socket));
    if (owner !== "unknown") this.#known.set(socket, owner);
    return owner;
  }

  isToken(given: string): boolean {
    return isSame(given, this.token);
  }

  /**
   * Whether this system can report the owner of a connection to this address. Tries it with a connection of its own.
   */
  async identifies(host: string, port: number): Promise<boolean> {
    const socket = connect({ host, port });
    try {
      await new Promise((resolve, reject) => socket.once("connect", resolve).once("error", reject));
      const { localAddress, localPort, remoteAddress, remotePort } = socket;
      const mirrored = {
        remoteAddress: localAddress,
        remotePort: localPort,
        localAddress: remoteAddress,
        localPort: remotePort,
      };
      return ownerOfUser(await this.#clients.userOf(mirrored)) === "own";
    } catch {
      // The server no longer listens.
      return false;
    } finally {
      socket.destroy();
    }
  }
}

function ownerOfUser(user: number | null): Owner {
  if (user === null) return "unknown";
  return user === 0 || user === process.getuid?.() ? "own" : "other";
}

/** Compares in constant time. */
export function isSame(given: string, token: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(given), digest(token));
}

/** The token of this home, created on first use. If it cannot be stored, every call returns a new one. */
export function loadToken(env: Env, name: "token" | "proxy-token"): string {
  try {
    const path = join(madeHome(env), name);
    const draft = `${path}.${randomBytes(4).toString("hex")}`;
    const stored = tokenIn(path);
    if (stored !== null) return stored;
    writePrivate(draft, `${newToken()}\n`, "wx");
    try {
      // link() is atomic, and fails if another process was faster.
      linkSync(draft, path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      if (tokenIn(path) === null) renameSync(draft, path);
    } finally {
      rmSync(draft, { force: true });
    }
    return tokenIn(path) ?? newToken();
  } catch {
    // The home is not writable.
    return newToken();
  }
}

/** Null if the file is missing or incomplete. */
function tokenIn(path: string): string | null {
  try {
    return /^[\w-]{32}$/m.exec(readText(path, MAX_NOTE))?.[0] ?? null;
  } catch {
    return null;
  }
}

/** Maximum number of unused codes; the oldest one is dropped. */
const MAX_CODES = 64;

/**
 * Codes that each give one browser access once. Unlike a token, a used code in a process list or browser history is
 * worthless.
 */
export class OneTimeCodes {
  readonly #codes = new Set<string>();

  issue(): string {
    const code = newToken();
    this.#codes.add(code);
    for (const oldest of this.#codes) {
      if (this.#codes.size <= MAX_CODES) break;
      this.#codes.delete(oldest);
    }
    return code;
  }

  redeem(code: string): boolean {
    return this.#codes.delete(code);
  }
}
