/** The only product with a status line. Separate from the list of providers, which takes too long to load here. */
export { readStatusRequest, type StatusRequest } from "./claude/statusline.ts";
