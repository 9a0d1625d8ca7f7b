import type { Socket } from "node:net";
import { LinuxClients } from "./clients-linux.ts";

/** Both ends of a connection, as named by the server's socket. */
export type Connection = {
  readonly [K in "remoteAddress" | "remotePort" | "localAddress" | "localPort"]?: Socket[K] | undefined;
};

/** Finds the user of the process at the other end of a local connection. */
export interface Clients {
  /** The uid; null if the system does not report it. */
  userOf(connection: Connection): Promise<number | null>;
}

export const unknownClients: Clients = { userOf: () => Promise.resolve(null) };

/** macOS and Windows do not report it to unprivileged programs. */
export const systemClients = (): Clients => (process.platform === "linux" ? new LinuxClients() : unknownClients);
