/**
 * Keys that are known by a fixed prefix. The prefixes are those of gitleaks (MIT, b58d3f10 of 2026-07-22), of
 * secretlint 13 (MIT) and of the vendors' documentation. Minimum lengths are shorter than there, so that truncated keys
 * are found too.
 *
 * Each pattern matches a text of bounded length, then at most one unbounded run of characters, and nothing mandatory
 * after it: no backtracking.
 */
export const PREFIXED = [
  // Model vendors and related services.
  "sk-ant-[\\w-]{16,}",
  "(?:sk|pk)-lf-[\\w-]{16,}",
  "sk-[A-Za-z0-9][\\w-]{18,}",
  "c?sk-[A-Za-z0-9]{20,}",
  "lsv2_(?:pt|sk)_[0-9a-f]{16,}(?:_[0-9a-f]+)?",
  "AIza[\\w-]{30,}",
  "AQ\\.Ab[\\w-]{30,}",
  "ya29\\.[\\w.-]{20,}",
  "1//0[\\w-]{30,}",
  "4/0A[\\w-]{30,}",
  "GOCSPX-[\\w-]{20,}",
  "(?:hf|gsk|fw|jina|napi|phx|phc|phs)_[A-Za-z0-9]{20,}",
  "pcsk_\\w{20,}",
  "api_org_[A-Za-z0-9]{20,}",
  "(?:xai|pplx)-[A-Za-z0-9]{20,}",
  "r8_[A-Za-z0-9]{30,}",
  "tgp_v1_[\\w-]{20,}",
  "(?:tvly|nvapi|ctx7sk)-[\\w-]{16,}",
  "fc-[0-9a-f]{32,}",
  "wandb_v1_[\\w-]{20,}",
  "pa-[\\w-]{40,}",
  "e2b_[0-9a-f]{30,}",
  "dd[po]_[A-Za-z0-9]{30,}",
  "dtn_[0-9a-f]{40,}",
  "rpa_[A-Z0-9]{30,}",
  "BSA[\\w-]{26,}",
  // Code hosting, packages, builds.
  "ghs_\\d{1,12}_eyJ[\\w-]{16,}(?:\\.[\\w-]+){0,2}",
  "gh[pousr]_[A-Za-z0-9]{20,}",
  "github_pat_\\w{20,}",
  "gl(?:pat|ptt|dt|rt|soat|cbt|ft|ffct|imt|agent|oas)-[\\w.-]{16,}",
  "GR1348941[\\w-]{16,}",
  "_gitlab_session=[0-9a-z]{32,}",
  "npm_[A-Za-z0-9]{30,}",
  "pypi-[\\w-]{16,}",
  "dckr_(?:pat|oat)_[\\w-]{20,}",
  "rubygems_[a-f0-9]{40,}",
  "CLOJARS_[A-Za-z0-9]{50,}",
  "oy2[a-z0-9]{40,}",
  "AT(?:ATT3|CTT3)[\\w=-]{20,}",
  "ATBB[A-Za-z0-9]{28,}",
  "ATTA[a-f0-9]{60,}",
  "sq[paub]_[a-f0-9]{40,}",
  "bk(?:ua|aat)_[a-f0-9]{30,}",
  "CCI(?:PAT|PRJ)_[\\w-]{20,}",
  "vc[pircka]_[A-Za-z0-9]{20,}",
  "nf[pcoubk]_[A-Za-z0-9]{30,}",
  "rnd_[A-Za-z0-9]{28,}",
  "fo1_[\\w-]{40,}",
  "fm[12][ar]?_[\\w+/=-]{60,}",
  "HRKU-[\\w-]{36,}",
  "ops_eyJ[\\w+/=-]{40,}",
  "A3-[A-Z0-9]{6}-[A-Z0-9-]{26,}",
  "dp\\.(?:pt|st|ct|sa|scim|audit)\\.[\\w.-]{30,}",
  "(?:pul-|sbp_)[a-f0-9]{30,}",
  "sb_secret_[\\w-]{20,}",
  "pscale_(?:tkn|oauth|pw)_[\\w=.-]{30,}",
  "pnu_[A-Za-z0-9]{30,}",
  "PMAK-[a-f0-9]{24}-[a-f0-9]{30,}",
  "(?:AKCp|cmVmd)[A-Za-z0-9]{50,}",
  "API-[A-Z0-9]{26,}",
  "tskey-[a-z]{2,12}-[\\w-]{16,}",
  "ico-[A-Za-z0-9]{32,}",
  "cio[A-Za-z0-9]{32}(?![A-Za-z0-9])",
  "cf(?:at|ut|k)_[A-Za-z0-9]{30,}",
  "snyk_[a-z]{2,4}\\.[\\w.-]{20,}",
  "sktsec_[\\w-]{20,}",
  "(?:api|sdk|mob)-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
  "(?:prod|dev|preview):[a-z0-9-]{3,60}\\|eyJ[\\w-]{20,}",
  "0\\.[0-9a-f]{8}-[0-9a-f-]{27}\\.[A-Za-z0-9]{20,}(?::[\\w+/=]+)?",
  // Clouds and vaults.
  "(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{16}",
  "ABSK[A-Za-z0-9+/]{60,}",
  "bedrock-api-key-[\\w+/=-]{20,}",
  "LTAI[A-Za-z0-9]{16,}",
  "AKID[A-Za-z0-9]{28,}",
  "do[opr]_v1_[a-f0-9]{32,}",
  "dapi[0-9a-f]{32}(?:-\\d)?",
  "hv[sbr]\\.[\\w-]{20,}",
  "dt0[a-z]\\d\\d\\.[A-Z0-9]{20,30}\\.[A-Z0-9]{40,}",
  "v1\\.0-[a-f0-9]{24}-[a-f0-9]{40,}",
  "sha256~[\\w-]{40,}",
  "AGE-SECRET-KEY-1[A-Z0-9]{20,}",
  "(?:AQVN|YCAJ|YCM)[\\w-]{30,}",
  // Payment, shops, mail, chat and others.
  "(?:sk|rk|whsec)_(?:live_|test_|prod_)?[A-Za-z0-9]{20,}",
  "(?:EAAA|sq0(?:atp|csp|idp)-)[\\w-]{20,}",
  "EAA[A-Za-z0-9]{60,}",
  "shp(?:at|ca|pa|ss|tka|ua)_[a-fA-F0-9]{30,}",
  "EZ[AT]K[A-Za-z0-9]{50,}",
  "(?:shippo|duffel)_(?:live|test)_[\\w=-]{30,}",
  "FLWSECK(?:_TEST)?-[A-Za-z0-9-]{12,}",
  "SG\\.[\\w-]{16,40}\\.[\\w-]{16,}",
  "x(?:keysib|smtpsib)-[a-f0-9]{40,}(?:-[A-Za-z0-9]+)?",
  "key-[0-9a-f]{32}",
  "re_[A-Za-z0-9]{6,12}_[A-Za-z0-9]{16,}",
  "xox[abeoprs][.-][\\w.-]{10,}",
  "xapp-\\d-[\\w-]{10,}",
  "(?:bot)?\\d{8,10}:AA[\\w-]{32,}",
  "[MNO][A-Za-z0-9_-]{23,25}\\.[\\w-]{6}\\.[\\w-]{27,}",
  "SK[0-9a-f]{32}",
  "pat[A-Za-z0-9]{14}\\.[a-f0-9]{40,}",
  "pat-(?:na|eu|ap)\\d-[a-f0-9-]{30,}",
  "ntn_[A-Za-z0-9]{40,}",
  "secret_[A-Za-z0-9]{40,}",
  "lin_(?:api|oauth)_[A-Za-z0-9]{30,}",
  "fig[dor]_[\\w-]{30,}",
  "fio-u-[\\w=-]{50,}",
  "gl(?:sa|c)_[\\w+/=-]{30,}",
  "NR(?:AK|II|JS|AA)-[A-Za-z0-9-]{16,}",
  "sntry[sua]_[\\w+/=-]{30,}",
  "hc[abx][a-z]k_[a-z0-9]{30,}",
  "xa[ap]t-[0-9a-f-]{30,}",
  "cflt[A-Za-z0-9+/]{50,}",
  "sl\\.(?:u\\.)?[\\w-]{60,}",
  "IG(?:QV|AA)[A-Za-z0-9]{60,}",
  "WPL_AP1\\.[A-Za-z0-9]{10,20}\\.[A-Za-z0-9+/=]+",
  "SSWS 00[\\w-]{30,}",
  "mlsn\\.[0-9a-f]{40,}",
  "dG9rOj[A-Za-z0-9+/=]{30,}",
  "00D[A-Za-z0-9]{12,15}![\\w.]{40,}",
  "AAAA[\\w-]{7}:APA91b[\\w-]{60,}",
  "rdme_[a-z0-9]{60,}",
  "p8e-[A-Za-z0-9]{30,}",
  "tk-us-[\\w-]{40,}",
  "sm_(?:aat|pat|sat)_[A-Za-z0-9]{16,}",
  "s-s4t2(?:ud|af)-[a-f0-9]{50,}",
  "4b1d[A-Za-z0-9]{38}(?![A-Za-z0-9])",
  "CFPAT-[\\w-]{30,}",
  "tfp_[\\w.=-]{40,}",
  "amzn\\.(?:mws|oa2-cs\\.v1)\\.[\\w.-]{30,}",
  "access-(?:sandbox|development|production)-[0-9a-f-]{30,}",
  "[12]/\\d{13,19}:[0-9a-f]{32}",
] as const;

/** Keys without a prefix, each with a marker that is cheap to search for. */
export const MARKED: readonly (readonly [mark: RegExp, pattern: string])[] = [
  [/\.atlasv1\./, "[A-Za-z0-9]{14}\\.atlasv1\\.[\\w=-]{40,}"],
  [/\dQ~/, "[\\w~.]{3}\\dQ~[\\w~.-]{30,}"],
  [/_mmk/, "[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk"],
  [/AZDO/, "[A-Za-z0-9]{50,80}AZDO[A-Za-z0-9]{4}"],
  [/-us\d/, "[0-9a-f]{32}-us\\d{1,2}"],
  [/\d\|/, "\\d{15,16}\\|[\\w-]{27,}"],
];

/** Words in the prefix of a key of any vendor: `acme_live_…`, `acme_api_key_…`. */
const GENERIC_WORDS =
  "s?k|key|api|api_?key|signkey|tok(?:en)?|secret|pat|[aou]at|live|prod|rw|auth|access|service|svc|admin|priv(?:ate)?";

const bounded = (pattern: string, flags = "") => new RegExp(`(?<![A-Za-z0-9])(?:${pattern})`, flags);

/**
 * Each pattern up to the fourth character of its run. If it does not occur, there is no key, whole or split; tested
 * first, because most texts have none.
 */
export const KEY_BEGINS = bounded(
  PREFIXED.map((pattern) =>
    pattern.replace(/\{(\d+),\}/g, (_, least: string) => `{${Math.min(4, Number(least))}}`),
  ).join("|"),
);
export const KNOWN_KEY = bounded(PREFIXED.join("|"), "g");

const FIRST_RUN = /^(.*?)(\[[^\]]*\]|\\w)\{/;
/** Too short, without letters of its own, or the beginning of names of models, versions and folders too. */
const AMBIGUOUS = /^(?:.{0,3}|[\d/]+\w?|\[.*|\(\?:(?:xai|api|prod)\|.*|key-|API-|ico-|AAAA|4b1d|v1.*|tskey-|snyk_)$/;
/** The beginning of such a key, if a text was cut off in it: its prefix and some characters. */
export const CUT_KEY = bounded(
  `(?:${PREFIXED.flatMap((pattern) => {
    const [, prefix = "", characters = ""] = FIRST_RUN.exec(pattern) ?? [];
    return AMBIGUOUS.test(prefix) ? [] : [`${prefix}${characters}{4}`];
  }).join("|")})[\\w.+/=~|:-]*`,
);
export const MARKED_KEYS = MARKED.map(([mark, pattern]) => ({ mark, pattern: bounded(pattern, "g") }));
/** The body of such a key must look random (`isKeyBody`), since these words begin names too. */
export const GENERIC_MARK = /[_.-][A-Za-z0-9]{16}/;
export const GENERIC_KEY = bounded(
  `(?:[a-z][a-z0-9]{1,15}[_-]){0,3}(?:${GENERIC_WORDS})[_.-](?:[A-Za-z0-9]{1,30}[_.-]){0,2}[A-Za-z0-9][\\w-]{19,}`,
  "g",
);
