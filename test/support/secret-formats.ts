/**
 * The public formats that redaction is measured with. Values are generated when the tests run, from an alphabet and a
 * length, and prefixes are written in two parts, so that no file of this repository contains text that a scanner takes
 * for a key.
 */

const LOWER = "abcdefghijklmnopqrstuvwxyz";
const UPPER = LOWER.toUpperCase();
const DIGITS = "0123456789";
const HEX = "0123456789abcdef";
const ALNUM = LOWER + UPPER + DIGITS;
const BASE64URL = `${ALNUM}-_`;

/** Pseudorandom, and the same in every run. */
export function maker(seed: number) {
  let state = seed;
  const next = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  const text = (alphabet: string, length: number) => {
    const made = Array.from({ length }, () => alphabet[Math.floor(next() * alphabet.length)]).join("");
    // A key of this length contains a digit; a short sample might not.
    return alphabet.includes("0") && length > 2 ? `${made.slice(0, -1)}7` : made;
  };
  return {
    alnum: (length: number) => text(ALNUM, length),
    hex: (length: number) => text(HEX, length),
    url: (length: number) => `${text(ALNUM, 1)}${text(BASE64URL, length - 2)}${text(ALNUM, 1)}`,
    base64: (length: number) => `${text(ALNUM, 1)}${text(`${ALNUM}+/`, length - 2)}${text(ALNUM, 1)}`,
    password: (length: number) => `${text(ALNUM, 2)}${text(`${ALNUM}!#%^*_-+.`, length - 4)}${text(ALNUM, 2)}`,
    upper: (length: number) => text(UPPER + DIGITS, length),
    lower: (length: number) => text(LOWER + DIGITS, length),
    digits: (length: number) => text(DIGITS, length),
    letters: (length: number) => text(LOWER + UPPER, length),
    word: () => text(LOWER, 7),
    uuid: () => [8, 4, 4, 4, 12].map((length) => text(HEX, length)).join("-"),
  };
}
type Make = ReturnType<typeof maker>;

export interface SecretFormat {
  readonly group: string;
  readonly name: string;
  /** The text in a transcript. */
  readonly text: string;
  /** The secret, which must be removed. */
  readonly secrets: readonly string[];
}

const base64 = (text: string) => Buffer.from(text).toString("base64");
const jwtOf = (r: Make) =>
  [
    base64('{"alg":"HS256","typ":"JWT"}').replace(/=+$/, ""),
    base64(`{"sub":"${r.digits(10)}"}`).replace(/=+$/, ""),
    r.url(43),
  ].join(".");

/** Keys with a recognisable format, whatever the text around them. */
const KEYS: Readonly<Record<string, (r: Make) => string>> = {
  "Anthropic API key": (r) => `${"sk"}-ant-api03-${r.url(93)}AA`,
  "Anthropic OAuth token": (r) => `${"sk"}-ant-oat01-${r.url(93)}AA`,
  "OpenAI project key": (r) => `${"sk"}-proj-${r.url(120)}`,
  "OpenAI legacy key": (r) => `${"sk"}-${r.alnum(48)}`,
  "OpenRouter key": (r) => `${"sk"}-or-v1-${r.hex(64)}`,
  "Google API key": (r) => `${"AI"}za${r.url(35)}`,
  "Google OAuth client secret": (r) => `${"GOC"}SPX-${r.url(28)}`,
  "Google OAuth access token": (r) => `${"ya"}29.${r.url(120)}`,
  "Google OAuth refresh token": (r) => `${"1/"}/0${r.url(60)}`,
  "Hugging Face token": (r) => `${"h"}f_${r.letters(34)}`,
  "Groq key": (r) => `${"gs"}k_${r.alnum(52)}`,
  "xAI key": (r) => `${"xa"}i-${r.alnum(80)}`,
  "Perplexity key": (r) => `${"pp"}lx-${r.alnum(48)}`,
  "Replicate token": (r) => `${"r"}8_${r.alnum(37)}`,
  "NVIDIA key": (r) => `${"nv"}api-${r.url(64)}`,
  "Tavily key": (r) => `${"tv"}ly-dev-${r.alnum(32)}`,
  "LangSmith key": (r) => `${"ls"}v2_pt_${r.hex(32)}_${r.hex(10)}`,
  "Langfuse secret key": (r) => `${"sk"}-lf-${r.uuid()}`,
  "Pinecone key": (r) => `${"pc"}sk_${r.alnum(60)}`,
  "Pinecone key in two parts": (r) => `${"pc"}sk_${r.alnum(6)}_${r.alnum(63)}`,
  "GitHub personal token": (r) => `${"gh"}p_${r.alnum(36)}`,
  "GitHub app token": (r) => `${"gh"}s_${r.alnum(36)}`,
  "GitHub fine-grained token": (r) => `${"github"}_pat_${r.alnum(22)}_${r.alnum(59)}`,
  "GitLab token": (r) => `${"gl"}pat-${r.url(20)}`,
  "npm token": (r) => `${"np"}m_${r.alnum(36)}`,
  "PyPI token": (r) => `${"py"}pi-AgEIcHlwaS5vcmc${r.url(80)}`,
  "RubyGems key": (r) => `${"ruby"}gems_${r.hex(48)}`,
  "Docker Hub token": (r) => `${"dckr"}_pat_${r.url(27)}`,
  "Atlassian API token": (r) => `${"ATA"}TT3${r.url(180)}`,
  "Vercel token": (r) => `${"vc"}p_${r.alnum(56)}`,
  "Netlify token": (r) => `${"nf"}p_${r.alnum(36)}`,
  "Fly.io token": (r) => `${"fm"}2_${r.alnum(120)}`,
  "Heroku key": (r) => `${"HR"}KU-AA${r.url(58)}`,
  "Supabase token": (r) => `${"sb"}p_${r.hex(40)}`,
  "Supabase secret key": (r) => `${"sb"}_secret_${r.url(31)}`,
  "PlanetScale password": (r) => `${"psc"}ale_pw_${r.url(43)}`,
  "Pulumi token": (r) => `${"pu"}l-${r.hex(40)}`,
  "Terraform Cloud token": (r) => `${r.alnum(14)}.atlas${"v1"}.${r.url(67)}`,
  "Doppler token": (r) => `${"dp"}.pt.${r.alnum(43)}`,
  "1Password service account": (r) => `${"op"}s_eyJ${r.alnum(250)}`,
  "HashiCorp Vault token": (r) => `${"hv"}s.${r.url(95)}`,
  "age secret key": (r) => `${"AGE-"}SECRET-KEY-1${r.upper(58)}`,
  "Tailscale key": (r) => `${"ts"}key-auth-${r.alnum(12)}-${r.alnum(32)}`,
  "AWS access key ID": (r) => `${"AK"}IA${r.upper(16)}`,
  "AWS Bedrock key": (r) => `${"AB"}SK${r.alnum(120)}`,
  "Azure AD client secret": (r) => `${r.alnum(3)}8Q${"~"}${r.alnum(34)}`,
  "Alibaba access key": (r) => `${"LT"}AI${r.alnum(20)}`,
  "DigitalOcean token": (r) => `${"do"}p_v1_${r.hex(64)}`,
  "Databricks token": (r) => `${"da"}pi${r.hex(32)}`,
  "Cloudflare origin CA key": (r) => `${"v1"}.0-${r.hex(24)}-${r.hex(146)}`,
  "Dynatrace token": (r) => `${"dt"}0c01.${r.upper(24)}.${r.upper(64)}`,
  "Stripe key": (r) => `${"sk"}_live_${r.alnum(24)}`,
  "Stripe webhook secret": (r) => `${"wh"}sec_${r.alnum(32)}`,
  "Square token": (r) => `${"sq"}0atp-${r.url(22)}`,
  "Shopify token": (r) => `${"sh"}pat_${r.hex(32)}`,
  "SendGrid key": (r) => `${"S"}G.${r.url(22)}.${r.url(43)}`,
  "Brevo key": (r) => `${"xk"}eysib-${r.hex(64)}-${r.alnum(16)}`,
  "Mailgun key": (r) => `${"ke"}y-${r.hex(32)}`,
  "Mailchimp key": (r) => `${r.hex(32)}-${"us"}21`,
  "Resend key": (r) => `${"r"}e_${r.alnum(8)}_${r.alnum(24)}`,
  "Slack bot token": (r) => `${"xo"}xb-${r.digits(12)}-${r.digits(12)}-${r.alnum(24)}`,
  "Slack app token": (r) => `${"xa"}pp-1-${r.upper(11)}-${r.digits(13)}-${r.hex(64)}`,
  "Telegram bot token": (r) => `${r.digits(10)}:${"A"}A${r.url(33)}`,
  "Discord bot token": (r) => `${"M"}${r.alnum(25)}.${r.alnum(6)}.${r.url(38)}`,
  "Twilio key": (r) => `${"S"}K${r.hex(32)}`,
  "Airtable token": (r) => `${"p"}at${r.alnum(14)}.${r.hex(64)}`,
  "HubSpot token": (r) => `${"pa"}t-na1-${r.uuid()}`,
  "Notion token": (r) => `${"nt"}n_${r.digits(11)}${r.alnum(35)}`,
  "Notion legacy token": (r) => `${"sec"}ret_${r.alnum(43)}`,
  "Linear key": (r) => `${"li"}n_api_${r.alnum(40)}`,
  "Figma token": (r) => `${"fi"}gd_${r.url(40)}`,
  "Postman key": (r) => `${"PM"}AK-${r.hex(24)}-${r.hex(34)}`,
  "Grafana service account": (r) => `${"gl"}sa_${r.alnum(32)}_${r.hex(8)}`,
  "Grafana Cloud token": (r) => `${"gl"}c_${base64(`{"o":"${r.digits(6)}","k":"${r.alnum(24)}"}`)}`,
  "New Relic key": (r) => `${"NR"}AK-${r.upper(27)}`,
  "Sentry user token": (r) => `${"sn"}tryu_${r.hex(64)}`,
  "Sentry organisation token": (r) => `${"sn"}trys_${base64(`{"iat":${r.digits(10)}}`)}_${r.alnum(43)}`,
  "PostHog key": (r) => `${"ph"}x_${r.alnum(43)}`,
  "Plaid access token": (r) => `${"acc"}ess-production-${r.uuid()}`,
  "JSON Web Token": jwtOf,
};

type Sample = readonly [text: string, ...secrets: string[]];

/** Secrets without a recognisable format: found by the text around them. */
const IN_CONTEXT: Readonly<Record<string, (r: Make) => Sample>> = {
  "--token=": (r) => sample((x) => `deploy --token=${x} --yes`, r.alnum(20)),
  "--password, then the value": (r) => sample((x) => `login --user ada --password ${x}`, r.word()),
  "--api-key in a list of arguments": (r) => sample((x) => `spawn("tool", ["--api-key", "${x}"])`, r.alnum(32)),
  "OPENAI_KEY=": (r) => sample((x) => `OPENAI_KEY=${x} node app.js`, r.alnum(40)),
  "DB_PASSWORD= in a file of variables": (r) => sample((x) => `PORT=80\nDB_PASSWORD=${x}\n`, `${r.word()}&${r.word()}`),
  "PGPASSWORD=": (r) => sample((x) => `PGPASSWORD=${x} psql -h db`, r.word()),
  "export of a quoted key": (r) => sample((x) => `export MY_API_KEY='${x}'`, r.word()),
  "AWS secret access key": (r) => sample((x) => `aws_secret_access_key = ${x}`, r.alnum(40)),
  "AWS session token": (r) => sample((x) => `AWS_SESSION_TOKEN="${x}"`, r.alnum(200)),
  "aws configure set": (r) => sample((x) => `aws configure set aws_secret_access_key ${x}`, r.alnum(40)),
  "npm :_authToken=": (r) => sample((x) => `//registry.example.com/:_authToken=${x}`, r.uuid()),
  "npm _auth": (r) => sample((x) => `_auth=${x}`, base64(`ada:${r.alnum(16)}`)),
  "npm config set": (r) => sample((x) => `npm config set //npm.example.com/:_authToken ${x}`, r.uuid()),
  "JSON property": (r) => sample((x) => `{"client_secret": "${x}", "n": 1}`, r.word()),
  "JSON in a JSON string": (r) => sample((x) => `{\\"refresh_token\\":\\"${x}\\"}`, r.alnum(24)),
  "YAML property": (r) => sample((x) => `db:\n  password: ${x}\n  port: 5432`, r.word()),
  "TOML property": (r) => sample((x) => `api_key = "${x}"`, r.alnum(24)),
  "XML element": (r) => sample((x) => `<server><password>${x}</password></server>`, r.alnum(12)),
  "name and value of an environment": (r) => sample((x) => `- name: DB_PASSWORD\n  value: ${x}`, r.word()),
  "name and value in JSON": (r) => sample((x) => `{"name":"GITHUB_TOKEN","value":"${x}"}`, r.alnum(24)),
  "camelCase property": (r) => sample((x) => `const config = { accessToken: "${x}" };`, r.alnum(24)),
  "assignment to a key in code": (r) => sample((x) => `os.environ["STRIPE_API_KEY"] = "${x}"`, r.alnum(24)),
  "comparison in code": (r) => sample((x) => `if (token === "${x}") allow();`, r.alnum(24)),
  sentence: (r) => sample((x) => `The admin password is ${x}.`, `${r.word()}42`),
  "password of a connection string": (r) =>
    sample((x) => `"Server=db;User Id=sa;Password=${x};Encrypt=true"`, r.alnum(12)),
  "variable of a Dockerfile": (r) => sample((x) => `ENV NPM_TOKEN ${x}`, r.alnum(36)),
  "key in a sentence": (r) => sample((x) => `My secret key is ${x}, use it`, r.alnum(20)),
  "curl -u": (r) => sample((x) => `curl -s -u ada:${x} https://example.com`, r.word()),
  "curl --user": (r) => sample((x) => `curl --user "ada:${x}" https://example.com`, r.word()),
  "curl with an Authorization header": (r) =>
    sample((x) => `curl -H "Authorization: Bearer ${x}" https://example.com`, r.alnum(20)),
  "curl with a vendor's header": (r) =>
    sample((x) => `curl -H 'X-Vendor-Api-Key: ${x}' https://example.com`, r.alnum(20)),
  "Cookie header": (r) => sample((x) => `Cookie: theme=dark; sid=${x}`, r.alnum(20)),
  "Authorization: Basic": (r) => sample((x) => `Authorization: Basic ${x}`, base64(`ada:${r.word()}`)),
  "docker login -p": (r) => sample((x) => `docker login -u ada -p ${x} registry.example.com`, r.word()),
  "az login -p": (r) => sample((x) => `az login --service-principal -u app -p ${x} --tenant t`, r.alnum(20)),
  "sshpass -p": (r) => sample((x) => `sshpass -p ${x} ssh root@host`, r.word()),
  "mysql -p": (r) => sample((x) => `mysql -u root -p${x} shop`, r.word()),
  "redis-cli -a": (r) => sample((x) => `redis-cli -h cache -a ${x} ping`, r.word()),
  "openssl pass:": (r) => sample((x) => `openssl rsa -in a.pem -passin pass:${x}`, r.word()),
  "IDENTIFIED BY": (r) => sample((x) => `CREATE USER 'a'@'%' IDENTIFIED BY '${x}';`, r.word()),
  ".netrc": (r) => sample((x) => `machine api.example.com login ada password ${x}`, r.word()),
  "password in a URL": (r) => sample((x) => `postgres://ada:${x}@db.example.com/shop`, r.word()),
  "token as the user of a URL": (r) => sample((x) => `git clone https://${x}@git.example.com/a.git`, r.alnum(40)),
  "Sentry DSN": (r) => sample((x) => `https://${x}@o${r.digits(6)}.ingest.sentry.io/${r.digits(7)}`, r.hex(32)),
  "Slack webhook": (r) =>
    sample((x) => `https://hooks.slack.com/services/${x}`, `T${r.upper(8)}/B${r.upper(8)}/${r.alnum(24)}`),
  "Discord webhook": (r) => sample((x) => `https://discord.com/api/webhooks/${x}`, `${r.digits(18)}/${r.url(68)}`),
  "Azure storage key": (r) =>
    sample((x) => `AccountName=a;AccountKey=${x};EndpointSuffix=core.windows.net`, `${r.alnum(86)}==`),
  "Azure SAS": (r) =>
    sample(
      (x) => `https://a.blob.core.windows.net/c/f?sv=2022-11-02&se=2027-01-01&sr=b&sp=r&sig=${x}`,
      `${r.alnum(20)}%2B${r.alnum(20)}%3D`,
    ),
  "Azure Service Bus": (r) =>
    sample((x) => `Endpoint=sb://a/;SharedAccessKeyName=Root;SharedAccessKey=${x}`, `${r.alnum(43)}=`),
  "?key=": (r) => sample((x) => `https://maps.example.com/api?key=${x}&q=1`, r.alnum(32)),
  "?access_token=": (r) => sample((x) => `https://example.com/cb?access_token=${x}&state=1`, r.alnum(20)),
  "?code= of OAuth": (r) => sample((x) => `http://localhost:1455/auth/callback?code=${x}&state=1`, r.alnum(32)),
  "AWS SigV4 query": (r) =>
    sample((x) => `https://b.s3.amazonaws.com/f?X-Amz-Expires=60&X-Amz-Signature=${x}`, r.hex(64)),
  "private key": (r) =>
    sample((x) => `-----BEGIN RSA ${"PRIVATE"} KEY-----\n${x}\n-----END RSA ${"PRIVATE"} KEY-----`, r.alnum(64)),
  "private key, cut off": (r) => sample((x) => `-----BEGIN OPENSSH ${"PRIVATE"} KEY-----\n${x}`, r.alnum(64)),
  "private key in JSON": (r) =>
    sample(
      (x) => `{"private_key":"-----BEGIN ${"PRIVATE"} KEY-----\\n${x}\\n-----END ${"PRIVATE"} KEY-----\\n"}`,
      r.alnum(64),
    ),
};

const MORE_CONTEXT: Readonly<Record<string, (r: Make) => Sample>> = {
  "field of a multipart form": (r) =>
    sample((x) => `--b1\r\nContent-Disposition: form-data; name="password"\r\n\r\n${x}\r\n--b1--\r\n`, r.word()),
  "field of a multipart form with a type": (r) =>
    sample(
      (x) =>
        `--b1\r\nContent-Disposition: form-data; name="client_secret"\r\nContent-Type: text/plain\r\n\r\n${x}\r\n--b1--`,
      r.alnum(20),
    ),
  "value of an INSERT": (r) =>
    sample((x) => `INSERT INTO users (email, password, age) VALUES ('ada@example.com', '${x}', 3);`, r.word()),
  "values of several rows": (r) => {
    const [one, two] = [r.word(), r.alnum(24)];
    return [
      `insert into "app"."users" ("id", "name", "api_token") values (1, 'O''Hara, Ada', '${one}'),\n  (2, 'Bo (b)', '${two}')`,
      one,
      two,
    ];
  },
  "value of a REPLACE in double quotes": (r) =>
    sample((x) => `REPLACE INTO users (email, password)\nVALUES\n  ("a\\"(b", "${x}"), ("c", DEFAULT)`, r.word()),
  "mask of a GitHub workflow": (r) => sample((x) => `echo "::add-mask::${x}"`, r.word()),
  "private key without its first line": (r) =>
    sample((x) => `the file ends with\n${x}\n${r.alnum(40)}==\n-----END RSA ${"PRIVATE"} KEY-----\n`, r.alnum(64)),
  "argument of a constructor": (r) => sample((x) => `const api = new Client("${x}");`, r.alnum(40)),
  "argument of a constructor on a line of its own": (r) =>
    sample((x) => `client = Client(\n    "${x}",\n)`, r.alnum(40)),
  "first argument of a constructor": (r) => sample((x) => `client = vendor.Client('${x}', timeout=3)`, r.alnum(40)),
  "name that ends in _TOK": (r) => sample((x) => `export DEPLOY_TOK=${x}`, r.alnum(20)),
};

const sample = (text: (secret: string) => string, secret: string): Sample => [text(secret), secret];

/** Keys whose appearance was changed. */
const DISGUISED: Readonly<Record<string, (r: Make) => Sample>> = {
  "base64 of a key": (r) => {
    const wrapped = base64(`${"gh"}p_${r.alnum(36)}`);
    return [`data: ${wrapped}`, wrapped.slice(4, 30)];
  },
  "base64 of a file of variables": (r) => {
    const wrapped = base64(`PORT=80\nDB_PASSWORD=${r.alnum(20)}\n`);
    return [wrapped, wrapped.slice(20, 50)];
  },
  "base64 of base64": (r) => {
    const wrapped = base64(base64(`token=${r.alnum(30)}`));
    return [`blob ${wrapped}`, wrapped.slice(10, 40)];
  },
  "base64 over several lines": (r) => {
    const lines =
      base64(`first line of a longer text without anything in it\nAPI_KEY=${r.alnum(40)}\nand an end`).match(
        /.{1,76}/g,
      ) ?? [];
    return [lines.join("\n"), lines[1] ?? "none"];
  },
  "two strings and a plus": (r) => split(r, (one, two) => `"${one}" + "${two}"`),
  "two strings of a list": (r) => split(r, (one, two) => `["${one}", "${two}"]`),
  "two strings in a JSON string": (r) => split(r, (one, two) => `{\\"a\\": \\"${one}\\" + \\"${two}\\"}`),
  "a line that goes on": (r) => split(r, (one, two) => `${one}\\\n${two}`),
  "zero-width characters in a key": (r) => split(r, (one, two) => `${one}\u200b${two}`),
  "zero-width characters in a prefix": (r) =>
    split(r, (one, two) => `${one[0]}\u200d${one.slice(1, 3)}\ufeff${one.slice(3)}${two}`),
  "colours in a key": (r) => split(r, (one, two) => `${one}\u001b[01;31m\u001b[K${two}\u001b[m\u001b[K`),
  "a colour in a prefix": (r) => split(r, (one, two) => `${one.slice(0, 2)}\u001b[1m${one.slice(2)}${two}`),
  "a colour as a script writes it": (r) => split(r, (one, two) => `echo "${one}\\033[31m${two}\\e[0m"`),
  "a line break in a key": (r) => split(r, (one, two) => `"${one}\n${two}"`),
  "a line break and a margin in a key": (r) => split(r, (one, two) => `  key: ${one}\r\n    ${two}\nand on`),
  "zero-width characters in a name": (r) => sample((x) => `DB_PASS\u200bWORD=${x}`, r.alnum(12)),
  "percent-encoded assignment": (r) => sample((x) => `next=%2Fcb%3Faccess_token%3D${x}%26a%3D1`, r.alnum(20)),
};

function split(r: Make, text: (one: string, two: string) => string): Sample {
  const [one, two] = [r.alnum(18), r.alnum(18)];
  return [text(`${"gh"}p_${one}`, two), one, two];
}

export const SECRET_FORMATS: readonly SecretFormat[] = [
  ...Object.entries(KEYS).map(([name, make], i): SecretFormat => {
    const key = make(maker(i + 1));
    return { group: "keys with a known format", name, text: `I found ${key} in the file.`, secrets: [key] };
  }),
  ...Object.entries({ ...IN_CONTEXT, ...MORE_CONTEXT }).map(([name, make], i): SecretFormat => {
    const [text, ...secrets] = make(maker(i + 1_000));
    return { group: "secrets recognised by context", name, text, secrets };
  }),
  ...Object.entries(DISGUISED).map(([name, make], i): SecretFormat => {
    const [text, ...secrets] = make(maker(i + 2_000));
    return { group: "encoded or split secrets", name, text, secrets };
  }),
];
