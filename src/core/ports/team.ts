/**
 * What a token of a team server allows. `ship`: to append to its owner. `read`: to see what its teams share. `admin`: to
 * see everything, and the state of the server.
 */
export const SCOPES = ["ship", "read", "admin"] as const;
export type Scope = (typeof SCOPES)[number];
