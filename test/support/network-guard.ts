/**
 * Preloaded (`NODE_OPTIONS=--require`, which workers and child processes inherit): refuses every connection that leaves
 * the machine, and logs each attempt to the file in NETWORK_GUARD_LOG.
 */
import dgram from "node:dgram";
import dns from "node:dns";
import { appendFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import net, { type AddressInfo } from "node:net";

const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|::1|::ffff:127(?:\.\d+){3}|\[::1\])$/;

function refuse(what: string): Error {
  appendFileSync(process.env.NETWORK_GUARD_LOG ?? "", `${what}\n`);
  return Object.assign(new Error(`the network guard refuses ${what}`), { code: "ECONNREFUSED" });
}

type AnyFunction = (this: unknown, ...args: unknown[]) => unknown;

/** Calls the original only if `target` finds no destination outside the machine. */
function guard(
  owner: object,
  name: string,
  target: (args: readonly unknown[]) => string | null,
  onRefused: (self: unknown, error: Error) => unknown,
) {
  const methods = owner as Record<string, AnyFunction>;
  const original = methods[name];
  if (original === undefined) return;
  methods[name] = function (...args) {
    const found = target(args);
    return found === null ? original.apply(this, args) : onRefused(this, refuse(`${name} ${found}`));
  };
}

const outside = (host: unknown) =>
  host === undefined || host === null || LOOPBACK.test(String(host)) ? null : String(host);

guard(
  net.Socket.prototype,
  "connect",
  (args) => {
    // `net.connect` passes its arguments as one normalized array.
    const [first, host] = Array.isArray(args[0]) ? args[0] : args;
    if (typeof first !== "object" || first === null) return outside(typeof host === "string" ? host : null);
    const options = first as { readonly path?: string; readonly host?: string };
    return options.path === undefined || options.path === null ? outside(options.host) : null;
  },
  (socket, error) => (socket as net.Socket).destroy(error),
);

const asThrown = (_: unknown, error: Error) => {
  throw error;
};
const asRejected = (_: unknown, error: Error) => Promise.reject(error);
/** IP addresses need no lookup. */
const named = (host: unknown) => (net.isIP(String(host)) === 0 ? outside(host) : null);
const names = Object.keys(dns).filter((name) => /^(?:lookup|resolve|reverse)/.test(name));
for (const way of names) {
  guard(dns, way, ([host]) => named(host), asThrown);
  guard(dns.promises, way, ([host]) => named(host), asRejected);
  guard(dns.Resolver.prototype, way, ([host]) => named(host), asThrown);
  guard(dns.promises.Resolver.prototype, way, ([host]) => named(host), asRejected);
}

for (const name of ["send", "connect", "bind"])
  guard(
    dgram.Socket.prototype,
    name,
    (args) => outside(args.findLast((arg) => typeof arg === "string") ?? "any address"),
    asThrown,
  );

// A server that listens on other addresses can be reached from outside.
const { listen } = net.Server.prototype;
net.Server.prototype.listen = function (this: net.Server, ...args: never[]) {
  this.once("listening", () => {
    const address = this.address() as AddressInfo | string | null;
    if (typeof address === "object" && address !== null && outside(address.address) !== null)
      refuse(`listen ${address.address}`);
  });
  return listen.apply(this, args as never);
} as typeof listen;

syncBuiltinESMExports();
