import type { Socket } from "node:net";
import { LinuxClients } from "./clients-linux.ts";

/** A connection as the server's side of it names both ends. */
export type Connection = { readonly [K in "remoteAddress" | "remotePort" | "localAddress" | "localPort"]?: Socket[K] | undefined };

/** Tells which user's process is at the other end of a connection on this machine. */
export interface Clients {
  /** The user's id; null where the system does not tell. */
  userOf(connection: Connection): Promise<number | null>;
}

export const unknownClients: Clients = { userOf: () => Promise.resolve(null) };

/** What this system tells. macOS and Windows keep it from programs without privileges. */
export const systemClients = (): Clients => (process.platform === "linux" ? new LinuxClients() : unknownClients);
