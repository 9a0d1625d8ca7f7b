import type { AskedPermission } from "../../../core/ports/control.ts";
import type { RelayPermissions } from "../../../core/ports/relay-permissions.ts";
import { asList, asNonBlank, asObject, asText, type JsonObject } from "../../../core/tools/json.ts";
import { withDirectory } from "./follower.ts";
import { relayGuard } from "./relay-guard.ts";

/** Permission requests of a server. `always` adds a rule that the server keeps in memory. */
export const permissions: RelayPermissions = {
  guard: relayGuard,
  changeIn(raw) {
    const json = asObject(raw);
    const frame = asObject(json?.payload) ?? json;
    const properties = asObject(frame?.properties) ?? {};
    switch (asText(frame?.type)) {
      // Called `updated` up to 1.1.
      case "permission.asked":
      case "permission.updated": {
        const asked = askedIn(properties);
        return asked === null ? null : { asked, place: asNonBlank(json?.directory) };
      }
      case "permission.replied": {
        const closed = asNonBlank(properties.requestID) ?? asNonBlank(properties.permissionID);
        return closed === null ? null : { closed };
      }
      default:
        return null;
    }
  },
  openIn(path, body) {
    const url = new URL(path, "http://server");
    if (url.pathname !== "/permission" || !Array.isArray(body)) return null;
    return {
      place: url.searchParams.get("directory"),
      asked: body.flatMap((item) => askedIn(asObject(item) ?? {}) ?? []),
    };
  },
  replies({ id, sessionId }, place, reply, text) {
    const message = text === null ? {} : { message: text };
    return [
      { path: at(`/permission/${encodeURIComponent(id)}/reply`, place), body: { reply, ...message } },
      // Up to 1.1.
      {
        path: at(`/session/${encodeURIComponent(sessionId ?? "")}/permissions/${encodeURIComponent(id)}`, place),
        body: { response: reply },
      },
    ];
  },
};

const at = (path: string, directory: string | null) =>
  directory === null || directory === "global" ? path : withDirectory(path, directory);

function askedIn(properties: JsonObject): AskedPermission | null {
  const [id, sessionId] = [asNonBlank(properties.id), asNonBlank(properties.sessionID)];
  if (id === null || sessionId === null) return null;
  const { permission, type, patterns, pattern, metadata, title, always, tool } = properties;
  const shown = { patterns: patterns ?? pattern, title, ...asObject(metadata) };
  return {
    id,
    sessionId,
    agentId: null,
    tool: asNonBlank(permission) ?? asNonBlank(type) ?? "a tool",
    input: Object.fromEntries(Object.entries(shown).filter(([, value]) => value !== undefined)),
    callId: asNonBlank(asObject(tool)?.callID) ?? asNonBlank(properties.callID),
    replies: ["once", "always", "reject"],
    always: asList(always).flatMap((rule) => asNonBlank(rule) ?? []),
  };
}
