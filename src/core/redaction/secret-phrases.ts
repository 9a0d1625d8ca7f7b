import { isMixed, isPlain, isRandom } from "./secret-names.ts";

interface Phrase {
  /** Literal alternatives, which are found fast; without one of them the pattern does not match. */
  readonly mark: RegExp;
  readonly pattern: RegExp;
  /** Which values count; all but placeholders if it is missing. */
  readonly accepts?: (value: string) => boolean;
}

/** Secrets recognised by what precedes them. Group 1 is kept, group 2 is the secret. */
export const PHRASES: readonly Phrase[] = [
  {
    mark: /:\/\//,
    pattern:
      /(hooks\.slack\.com\/(?:services|workflows|triggers)\/|discord(?:app)?\.com\/api\/webhooks\/|\.webhook\.office\.com\/webhookb2\/|hooks\.zapier\.com\/hooks\/catch\/|\.infura\.io\/(?:ws\/)?v3\/|\.alchemy\.com\/v2\/|\.quiknode\.pro\/|maker\.ifttt\.com\/trigger\/[\w-]{1,64}\/with\/key\/)([\w/@-]+)/g,
  },
  { mark: /:\/\//, pattern: /(:\/\/[^\s:@/"'<>`]{0,256}:)([^\s@/"'<>`]{1,256})(?=@)/g },
  { mark: /:\/\//, pattern: /(:\/\/)((?=[^\s:@/]{0,60}\d)[^\s:@/"'<>`]{16,256})(?=@)/g },
  // The same, if the text was cut off in the password.
  {
    mark: /:\/\//,
    pattern:
      /(\b(?:https?|ftps?|sftp|ssh|git|wss?|socks5h?|smtps?|imaps?|ldaps?|postgres(?:ql)?|mysql|mariadb|mongodb(?:\+srv)?|rediss?|amqps?|sqlserver|mssql|clickhouse|nats|jdbc:\w{1,20}):\/\/[^\s:@/"'<>`.]{1,256}:)([^\s:@/"'<>`…][^\s@/"'<>`…]{0,255})(?=…|\.{3}|$)/g,
    accepts: (value) => !/^\d{1,5}[\])},.;]*$/.test(value),
  },
  {
    mark: /earer |asic |EARER |ASIC |earer, /,
    pattern: /(\b(?:bearer|basic),?\s{1,8})((?=[\w+/=.~-]{0,200}[\d=])[\w+/=.~-]{8,})/gi,
  },
  { mark: /oken /, pattern: /(\bauthorization\W{1,8}token\s{1,4})([\w-]{8,})/gi },
  {
    mark: /ccountKey=|AccessKey=|AccessSignature=/,
    pattern: /(\b(?:AccountKey|SharedAccessKey|SharedAccessSignature)=)([^;\s"']+)/g,
  },
  {
    mark: /curl|wget|http/,
    pattern:
      /(\b(?:curl|https?|wget)\b[^\n]{0,400}?\s(?:-u|-U|--user|--proxy-user|-a|--auth)[ =]{0,3}["']?[^\s:"'$]{1,80}:)([^\s"']+)/g,
  },
  {
    mark: / login/,
    pattern:
      /(\b(?:docker|podman|nerdctl|buildah|skopeo|crane|helm|oras|az|oc|cf|ibmcloud)\b[^\n]{0,60}? login\b[^\n]{0,200}?\s-p[ =]{0,3}["']?)([^\s"']+)/g,
  },
  { mark: /vault login/, pattern: /(\bvault login\s{1,4}(?:-\S{1,60}\s{1,4}){0,3})([\w.-]{8,})/g },
  {
    mark: /sshpass|7z|zip|rar/,
    pattern:
      /(\b(?:sshpass\s{1,4}-p|7za?\b[^\n]{0,80}?\s-p|(?:un)?zip\b[^\n]{0,80}?\s-P|(?:un)?rar\b[^\n]{0,80}?\s-h?p)\s?["']?)([^\s"']+)/g,
  },
  {
    mark: /mysql|mariadb/,
    pattern: /(\b(?:mysql(?:dump|admin|import|show)?|mariadb(?:-\w{1,12})?)\b[^\n]{0,200}?\s-p["']?)([^\s"']+)/g,
  },
  {
    mark: /redis-cli|ldap|snmp/,
    pattern:
      /(\b(?:redis-cli\b[^\n]{0,120}?\s-a|ldap(?:search|modify|add|delete|whoami|passwd)\b[^\n]{0,200}?\s-w|snmp\w{2,10}\b[^\n]{0,120}?\s-[AX])\s{1,4}["']?)([^\s"']+)/g,
  },
  {
    mark: /smbclient|wmic/,
    pattern: /(\b(?:smbclient|rpcclient|wmic)\b[^\n]{0,120}?\s-U\s{0,4}["']?[^\s%"']{1,80}%)([^\s"']+)/g,
  },
  { mark: /pass:/, pattern: /(\s(?:-pass(?:in|out)?|-k)\s{1,4}["']?pass:)([^\s"']+)/g },
  { mark: /htpasswd/, pattern: /(\bhtpasswd\s{1,4}-\w{0,6}b\w{0,6}\s{1,4}(?:\S{1,200}\s{1,4}){1,2})([^\s"']+)/g },
  { mark: /machine /, pattern: /(\bmachine\s{1,8}\S{1,200}\s{1,8}login\s{1,8}\S{1,200}\s{1,8}password\s{1,8})(\S+)/g },
  { mark: /IDENTIFIED BY|identified by/, pattern: /(\bidentified by\s{1,8}["'])([^"'\n]+)/gi },
  {
    mark: /chpasswd/,
    pattern: /(\becho\s{1,4}["']?[\w.-]{1,40}:)([^\s"']{1,200})(?=["']?\s{0,4}\|\s{0,4}(?:sudo\s{1,4})?chpasswd)/g,
  },
  { mark: /\?code=|&code=/, pattern: /([?&]code=)((?=[\w%./~-]{0,60}\d)[\w%./~-]{16,})/g },
  // A key instead of a user, without a password; cookies.
  {
    mark: /curl|wget|http/,
    pattern:
      /(\b(?:curl|https?|wget)\b[^\n]{0,400}?\s(?:-u|--user)[ =]{0,3}["']?)([\w.-]{16,256})(?=:?(?:["'\s\\]|$))/g,
    accepts: isRandom,
  },
  {
    mark: /curl/,
    pattern: /(\bcurl\b[^\n]{0,400}?\s(?:-b|--cookie)[ =]{0,3}["']?[\w.-]{1,80}=)([^\s"';]{8,})/g,
  },
  // A user and a password by short flags, of any program; ports and folders have other forms.
  {
    mark: / -u|--user/,
    pattern:
      /(\s(?:-u|--user(?:name)?)[ =]{1,3}["']?[^\s"']{1,80}["']?\s[^\n]{0,80}?(?<=\s)-[pP][ =]{1,3}["']?)([^\s"']{4,256})/g,
    accepts: isMixed,
  },
  {
    mark: / -U/,
    pattern: /(\s-U[ =]{1,3}["']?[^\s"']{1,80}["']?\s[^\n]{0,80}?(?<=\s)-P[ =]{0,3}["']?)([^\s"']{4,256})/g,
  },
  { mark: /openssl enc/, pattern: /(\bopenssl enc\b[^\n]{0,200}?\s-k\s{1,4}["']?)((?!pass:)[^\s"']+)/g },
  { mark: /ssh-keygen/, pattern: /(\bssh-keygen\b[^\n]{0,200}?\s-[NP]\s{1,4}["'])([^"'\n]+)/g },
  {
    mark: /add_user|change_password/,
    pattern: /(\b(?:add_user|change_password)\s{1,4}[\w.@-]{1,80}\s{1,4}["']?)([^\s"'()]{4,})/g,
  },
  { mark: /net use/, pattern: /(\bnet use\b[^\n]{0,200}?\/user:\S{1,120}\s{1,4})([^\s/"']+)/gi },
  { mark: /\/p:|\/P:/, pattern: /(\/u:[^\s"']{1,80}[^\n]{0,80}?\s\/p:["']?)([^\s"']+)/gi },
  { mark: /SecureString/, pattern: /(\bConvertTo-SecureString\s{1,4}(?:-String\s{1,4})?["'])([^"'\n]+)/gi },
  // `user/password@host` of Oracle.
  {
    mark: /sqlplus|oracle|impdp|expdp|sqlldr/,
    pattern:
      /(\b(?:sqlplus|impdp|expdp|sqlldr)\b[^\n/]{0,80}?[\s"'][\w$#]{1,60}\/|:oracle:\w{1,8}:[\w$#]{1,60}\/)([^\s"'@/]{1,128})(?=@)/g,
  },
  // A value that is written to the standard input of a command that asks for one.
  {
    mark: /\x7c/,
    pattern:
      /(\b(?:echo|printf)\s{1,4}(?:-[neE]{1,3}\s{1,4})?(?:["']%s(?:\\n)?["']\s{1,4})?["']?)([^\s"'|$`]{6,256})(?=["']?\s{0,4}\|\s{0,4}[^\n|]{0,120}?(?:stdin|with-token|secrets?\b|\blogin\b|env add|passwd|luks|sudo\s(?:-\w{1,8}\s){0,3}-\w{0,4}S\b))/g,
  },
  {
    mark: / login /,
    pattern: /(\b[\w.-]{2,20}\slogin\s{1,4})([\w.-]{16,})/g,
    accepts: isRandom,
  },
  { mark: /lftp/, pattern: /(\blftp\b[^\n]{0,120}?\s-u\s{1,4}["']?[^\s,"']{1,80},)([^\s"']+)/g },
  // Keys that calls sign with.
  {
    mark: /jwt|Hmac|hmac|Wallet\(|privateKeyToAccount/,
    pattern:
      /(\b(?:jwt\.(?:sign|verify|encode|decode)\([^\n"']{1,120}?,\s{0,4}|createHmac\(\s{0,4}["'][\w-]{1,20}["'],\s{0,4}|hmac\.new\(\s{0,4}b?|Wallet\(|privateKeyToAccount\()["'])([^"'\n]{8,256})(?=["'])/g,
    accepts: isMixed,
  },
  // A key that a client is made with. Hashes, ids and addresses are hexadecimal, or named so.
  {
    mark: /\w\(\s{0,8}["'`]/,
    pattern:
      /(\b(?!\w{0,40}(?:Hash|Digest|Sha|Buffer|Blob|Id|ID|Public|Address|Error|Base64|Bytes|Hex|Array|Reg[Ee]xp?)\()[A-Z]\w{1,40}\(\s{0,8}["'`])([\w+/=-]{32,128})(?=["'`])/g,
    accepts: (value) => isRandom(value) && !isPlain(value) && /[a-z]/.test(value) && /[A-Z]/.test(value),
  },
  { mark: /::add-mask::/, pattern: /(::add-mask::)([^\s"'`][^\r\n"'`]{0,1000})/g },
  { mark: /"kty"/, pattern: /("d"\s{0,4}:\s{0,4}")([\w-]{20,})/g },
  // The secret beside the id of an account.
  { mark: /AC/, pattern: /(\bAC[0-9a-f]{32}[^A-Za-z0-9]{1,8})([0-9a-f]{32})(?![A-Za-z0-9])/g },
  {
    mark: /AKIA|ASIA/,
    pattern: /(\b(?:AKIA|ASIA)[A-Z0-9]{16}[^A-Za-z0-9+]{1,20})([A-Za-z0-9+/]{40})(?![A-Za-z0-9+/])/g,
  },
  // Calls with a user and a password.
  {
    mark: /login|Login|signIn|sign_in|uthenticate|redentials\(|auth\(|Auth\(|auth=\(|auth = \(|auth: \[|auth=\[/,
    pattern:
      /((?:\b(?:log_?in|authenticate|sign_?in|set_?credentials|http_?basic_?auth|basic_?auth)\w{0,20}\(|\bauth\s{0,4}[:=]\s{0,4}[([])\s{0,8}\\{0,3}["'][^"'\n]{1,80}["'],\s{0,20}\\{0,3}["'])([^"'\n\\]{4,256})(?=\\{0,3}["'])/gi,
    accepts: isMixed,
  },
  {
    mark: /redentials:|redential:|reds:|ogin:|reds =/,
    pattern: /(\b(?:credentials?|creds|login)\s{0,4}[:=]\s{0,4}["'`]?[\w.@-]{1,80}\s{1,4}\/\s{1,4})([^\s"'`]{6,128})/gi,
    accepts: isMixed,
  },
  // Cookies in a list.
  {
    mark: /"value"/,
    pattern:
      /("name"\s{0,4}:\s{0,4}"[\w.-]{0,40}(?:sess|sid)[\w.-]{0,40}"\s{0,4},\s{0,20}"value"\s{0,4}:\s{0,4}")([^\s"]{14,})/gi,
    accepts: isRandom,
  },
  // `host:port:database:user:password` of a .pgpass file.
  {
    mark: /:5432:|:5433:|:6432:|:6543:|:\*:/,
    pattern: /(^[\w.*-]{1,120}:(?:\d{2,5}|\*):[\w*-]{1,60}:[\w.*@-]{1,60}:)([^\s:"']{6,128})(?=$|\\n)/gm,
    accepts: isMixed,
  },
  {
    mark: /Private-Lines/,
    pattern: /(\bPrivate-Lines: \d{1,3}\s{1,4})([A-Za-z0-9+/=]{20,}(?:\s{1,4}[A-Za-z0-9+/=]{20,}){0,100})/g,
  },
  // Hashes of passwords: they can be guessed offline.
  {
    mark: /\$1\$|\$2|\$5\$|\$6\$|\$7\$|\$y\$|\$gy\$|\$apr1|\$argon2|\$scrypt|\$pbkdf2|SCRAM-/,
    pattern:
      /(\$(?:1|2[abxy]?|5|6|7|y|gy|apr1|argon2\w{1,2}|scrypt|pbkdf2[\w-]{0,12})\$|\bSCRAM-SHA-\d{1,3}\$\d{1,8}:)([\w./$=,+:-]{20,})/g,
  },
];

/** Whether a text contains any of the markers. */
export const PHRASE = new RegExp(
  [...new Set(PHRASES.flatMap(({ mark }) => mark.source.split("|")))].toSorted().join("|"),
);
