/** Globs of files with secrets. */
const SECRET_FILES = `
  .env .env.* *.env .envrc *.pem *.key *.p12 *.pfx *.jks *.keystore *.kdbx *.ovpn *.ppk *.asc id_rsa id_dsa
  id_ecdsa id_ed25519 .netrc .npmrc .pypirc .pgpass .htpasswd .git-credentials .ssh/** .gnupg/** .aws/credentials
  .azure/** .config/gcloud/** .docker/config.json .kube/config .credentials.json credentials.json
  service-account*.json secrets.* *.tfvars *.tfstate
`;
/** Globs of files among them that are not secret. */
const PUBLIC_FILES = `
  .env.example .env.sample .env.template .env.dist .env.defaults .ssh/config .ssh/known_hosts *.pub
`;

/** Returns a predicate for secret files: the built-in ones and those of the globs. */
export function secretFiles(globs: readonly string[]): (path: string) => boolean {
  const patternsIn = (list: string) => list.trim().split(/\s+/).map(globPattern);
  const [hidden, own, open] = [patternsIn(SECRET_FILES), globs.map(globPattern), patternsIn(PUBLIC_FILES)];
  return (path) => {
    const plain = path.replaceAll("\\", "/");
    const fits = (patterns: readonly RegExp[]) => patterns.some((pattern) => pattern.test(plain));
    return fits(own) || (fits(hidden) && !fits(open));
  };
}

/** `*` is any name, `**` any depth; `~/` is any home folder, and a relative path may begin anywhere. */
function globPattern(glob: string): RegExp {
  const anywhere = glob.replace(/^~\//, "**/");
  const rooted = anywhere.startsWith("/") || anywhere.startsWith("**/") ? anywhere : `**/${anywhere}`;
  const source = rooted
    .split(/(\*\*\/|\*\*|\*|\?)/)
    .map(
      (part) =>
        ({ "**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]" })[part] ??
        part.replace(/[.+^${}()|[\]\\]/g, "\\$&"),
    )
    .join("");
  return new RegExp(`^${source}$`, "i");
}

/** Words of a command may be paths: `cat ./.env>x` has two. */
export function namesSecretFile(text: string, isSecret: (path: string) => boolean): boolean {
  return isSecret(text.trim()) || text.split(/[\s"'`;|&<>()=,:@]+/).some((word) => word !== "" && isSecret(word));
}

/** Colours of a terminal. */
const COLOUR = "(?:\\u001b\\[[\\d;]{0,12}[A-Za-z]){0,4}";
/**
 * A line that a search printed of a file, up to the value in it: `.env:3:NAME=…`, `.env-4-NAME=…`; or up to a line of
 * Base64.
 */
const FOUND_LINE = new RegExp(
  [
    `^([ \\t]{0,8}([^\\s:"'\`<>|*?]{1,200}?)`,
    `(?::${COLOUR}\\d{1,7}${COLOUR}[:-]|-${COLOUR}\\d{1,7}${COLOUR}-|:)${COLOUR}[ \\t]{0,40}`,
    `(?:(?:export[ \\t]{1,4})?${COLOUR}["']?[A-Za-z_][\\w.-]{0,80}${COLOUR}["']?[ \\t]{0,8}[=:][ \\t]{0,8}|(?=[A-Za-z0-9+/]{40})))`,
    "\\S[^\\r\\n]*",
  ].join(""),
  "gm",
);
const COLOURS = new RegExp(COLOUR, "g");

/** Without the values in lines of secret files that a search printed. */
export const withoutFoundLines = (text: string, isSecret: (path: string) => boolean, instead: string): string =>
  text.includes(":") || text.includes("-")
    ? text.replace(FOUND_LINE, (line, before: string, path: string) =>
        isSecret(path.replace(COLOURS, "")) ? before + instead : line,
      )
    : text;
