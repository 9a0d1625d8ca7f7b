import { BlockList, isIP, isIPv4 } from "node:net";
import { type Grant, NAME } from "../../app/team/store.ts";

/** A reverse proxy that has authenticated a person, for example with OpenID Connect, and names that person in a header. */
export interface TrustedProxy {
  /** Addresses and networks (CIDR) of the proxy. Headers from elsewhere are ignored. */
  readonly addresses: readonly string[];
  readonly header: string;
  /** The header with the person's teams, separated by commas; null: none. */
  readonly teamsHeader: string | null;
  /** The only domain of e-mail addresses that is accepted; null: the header must contain a plain name. */
  readonly domain: string | null;
  /** People with scope `admin`; everybody else has scope `read`. */
  readonly admins: readonly string[];
}

/** In the audit log, in place of the id of a token. */
export const BY_PROXY = "proxy";

/**
 * Who a request comes from, according to a trusted proxy. Null if it does not come from the proxy, or names nobody;
 * `refused` if the name cannot be an owner.
 */
export type Identify = (
  remote: string | undefined,
  header: (name: string) => string | undefined,
) => Grant | "refused" | null;

export function identifier({ addresses, header, teamsHeader, domain, admins }: TrustedProxy): Identify {
  const trusted = new BlockList();
  for (const one of addresses) {
    const [address = "", bits] = one.split("/");
    const family = isIPv4(address) ? "ipv4" : "ipv6";
    if (bits === undefined) trusted.addAddress(address, family);
    else trusted.addSubnet(address, Number(bits), family);
  }
  return (remote, headerOf) => {
    const from = (remote ?? "").replace(/^::ffff:(?=\d+\.)/, "");
    if (isIP(from) === 0 || !trusted.check(from, isIPv4(from) ? "ipv4" : "ipv6")) return null;
    const given = headerOf(header)?.trim().toLowerCase();
    if (given === undefined || given === "") return null;
    const owner = ownerIn(given, domain);
    if (owner === null) return "refused";
    const teams = (teamsHeader === null ? "" : (headerOf(teamsHeader) ?? "")).split(",").map((team) => team.trim());
    return {
      id: BY_PROXY,
      owner,
      scope: admins.includes(owner) ? "admin" : "read",
      teams: teams.filter((team) => NAME.test(team)),
    };
  };
}

/** The part before the @ of an address of the own domain, or a plain name. */
function ownerIn(given: string, domain: string | null): string | null {
  const [name = "", of, ...more] = given.split("@");
  if (more.length > 0 || !NAME.test(name)) return null;
  return of === (domain?.toLowerCase() ?? undefined) ? name : null;
}
