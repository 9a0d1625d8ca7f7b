import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** Passes connections on to a port of this machine, and can cut or hold them. */
export class TcpProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #isOpen = true;
  #isSilent = false;

  private constructor(to: number) {
    this.#server = createServer((client) => {
      if (!this.#isOpen) return void client.destroy();
      const server = connect(to, "127.0.0.1");
      for (const [socket, other] of [
        [client, server],
        [server, client],
      ] as const) {
        this.#sockets.add(socket);
        socket.on("data", (data) => this.#isSilent || other.write(data));
        socket.on("error", () => {});
        socket.on("close", () => {
          this.#sockets.delete(socket);
          other.destroy();
        });
      }
    });
  }

  static async start(to: number): Promise<TcpProxy> {
    const proxy = new TcpProxy(to);
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get connections(): number {
    return this.#sockets.size / 2;
  }

  /** Cuts all connections; `reset` as if the other machine had crashed. */
  cut(how: "close" | "reset" = "close"): void {
    for (const socket of [...this.#sockets]) how === "reset" ? socket.resetAndDestroy() : socket.destroy();
  }

  /** Passes nothing on from now on, as if the network was unplugged. */
  silence(isSilent: boolean): void {
    this.#isSilent = isSilent;
  }

  /** Whether new connections are accepted. */
  accept(isOpen: boolean): void {
    this.#isOpen = isOpen;
  }

  async stop(): Promise<void> {
    this.#server.close();
    this.cut();
    await once(this.#server, "close");
  }
}
