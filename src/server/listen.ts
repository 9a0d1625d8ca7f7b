import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Failure } from "../app/failure.ts";

const PORT = 4747;
const OTHER_PORTS = 20;

/** The wildcard address is replaced by one that a browser can open. */
export const named = (host: string) =>
  host === "0.0.0.0" || host === "::" ? "localhost" : host.includes(":") ? `[${host}]` : host;

/** Returns the port. Null: the default port, or another free one. */
export async function listen(server: Server, host: string, requested: number | null): Promise<number> {
  const ports = requested === null ? [...Array.from({ length: OTHER_PORTS }, (_, i) => PORT + i), 0] : [requested];
  for (const port of ports) {
    server.listen(port, host);
    try {
      await once(server, "listening");
      return (server.address() as AddressInfo).port;
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code === "EADDRINUSE" && requested === null) continue;
      throw new Failure(
        "failed",
        `cannot listen on ${host}:${port}: ${message}`,
        ["use --port 0 for any free port"],
        error,
      );
    }
  }
  throw new Failure("failed", `no free port on ${host}`);
}
