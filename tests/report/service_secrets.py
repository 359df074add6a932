"""Made-up secrets in the public format of each service, in the surroundings of an agent's work. None was ever valid.

A format is a text with draws in braces: a letter for the characters, a number for how many (`{a36}`, `{h8}`).
"""

from __future__ import annotations

import base64
import re
import string
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

from tests.report.planted_secrets import HEXADECIMAL, LETTERS, UPPER, Draw, Dressed, in_json, pieces_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

LOWER = string.ascii_lowercase + string.digits
CHARACTERS = {
    "a": LETTERS,
    "b": LETTERS + "-_",
    "B": LETTERS + "+/",
    "d": string.digits,
    "h": HEXADECIMAL,
    "l": LOWER,
    "s": string.ascii_letters,
    "U": UPPER,
    "2": string.ascii_lowercase + "234567",
    "5": LETTERS.translate(dict.fromkeys(map(ord, "0OIl"))),
    "C": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
    "c": "qpzry9x8gf2tvdw0s3jn54khce6mua7l",
}
"""Alphabets by letter: base62, base64 of addresses, base64, digits, hexadecimal, …, base32, base58, bech32."""

TOKENS: dict[str, tuple[str, str]] = {
    # By the name of a service: the variable that holds the secret, and its format. Each is told by its form alone.
    "AWS key id": ("AWS_ACCESS_KEY_ID", "AK" + "IA{U16}"),
    "AWS temporary key id": ("AWS_ACCESS_KEY_ID", "AS" + "IA{U16}"),
    "AWS session": ("AWS_SESSION_TOKEN", "IQoJb3JpZ2luX2Vj{B220}="),
    "AWS Bedrock": ("AWS_BEARER_TOKEN_BEDROCK", "ABSK{B120}="),
    "Google API": ("GOOGLE_API_KEY", "AI" + "za{b35}"),
    "Google OAuth secret": ("GOOGLE_CLIENT_SECRET", "GOC" + "SPX-{b28}"),
    "Google access": ("GOOGLE_ACCESS_TOKEN", "ya" + "29.a0{b120}"),
    "Google refresh": ("GOOGLE_REFRESH_TOKEN", "1//0{a1}{b60}"),
    "Azure storage": ("AZURE_STORAGE_KEY", "{B86}=="),
    "Azure client secret": ("AZURE_CLIENT_SECRET", "{a3}8Q~{b34}"),
    "Azure DevOps": ("AZURE_DEVOPS_EXT_PAT", "{a76}AZDO{a4}"),
    "Alibaba": ("ALIBABA_CLOUD_ACCESS_KEY_ID", "LT" + "AI5t{a20}"),
    "Tencent": ("TENCENTCLOUD_SECRET_ID", "AK" + "ID{a32}"),
    "DigitalOcean": ("DIGITALOCEAN_TOKEN", "do" + "p_v1_{h64}"),
    "Heroku": ("HEROKU_API_KEY", "HR" + "KU-AA{b58}"),
    "Netlify": ("NETLIFY_AUTH_TOKEN", "nf" + "p_{a36}"),
    "Fly.io": ("FLY_API_TOKEN", "fm2" + "_lJPE{B120}="),
    "Render": ("RENDER_API_KEY", "rn" + "d_{a28}"),
    "Supabase": ("SUPABASE_ACCESS_TOKEN", "sb" + "p_{h40}"),
    "Supabase secret": ("SUPABASE_SECRET_KEY", "sb" + "_secret_{b22}_{b8}"),
    "PlanetScale": ("PLANETSCALE_TOKEN", "psca" + "le_tkn_{b43}"),
    "PlanetScale password": ("PLANETSCALE_PASSWORD", "psca" + "le_pw_{b43}"),
    "Neon": ("NEON_API_KEY", "na" + "pi_{l64}"),
    "Cloudflare origin": ("CLOUDFLARE_ORIGIN_CA_KEY", "v1" + ".0-{h24}-{h146}"),
    "MongoDB Atlas": ("ATLAS_CLIENT_SECRET", "mdb_sa_sk_{b40}"),
    "Databricks": ("DATABRICKS_TOKEN", "da" + "pi{h32}"),
    "GitHub": ("GITHUB_TOKEN", "gh" + "p_{a36}"),
    "GitHub, fine-grained": ("GH_TOKEN", "github" + "_pat_{a22}_{a59}"),
    "GitHub app": ("GITHUB_TOKEN", "gh" + "s_{a36}"),
    "GitLab": ("GITLAB_TOKEN", "gl" + "pat-{b20}"),
    "GitLab, routable": ("GITLAB_TOKEN", "gl" + "pat-{b27}.01.{l9}"),
    "GitLab runner": ("RUNNER_REGISTRATION_TOKEN", "GR1" + "348941{b20}"),
    "Bitbucket": ("BITBUCKET_APP_PASSWORD", "AT" + "BB{a32}"),
    "Atlassian": ("JIRA_API_TOKEN", "AT" + "ATT3xFfGF0{b160}={h8}"),
    "CircleCI": ("CIRCLECI_TOKEN", "CCI" + "PAT_{a22}_{h40}"),
    "Buildkite": ("BUILDKITE_API_TOKEN", "bk" + "ua_{h40}"),
    "SonarQube": ("SONAR_TOKEN", "sq" + "u_{h40}"),
    "Snyk": ("SNYK_TOKEN", "snyk_uat.{h8}.{b80}"),
    "npm": ("NPM_TOKEN", "np" + "m_{a36}"),
    "PyPI": ("TWINE_PASSWORD", "py" + "pi-AgEIcHlwaS5vcmc{b150}"),
    "RubyGems": ("GEM_HOST_API_KEY", "ruby" + "gems_{h48}"),
    "NuGet": ("NUGET_API_KEY", "oy" + "2{243}"),
    "crates.io": ("CARGO_REGISTRY_TOKEN", "ci" + "o{a32}"),
    "Docker": ("DOCKER_PAT", "dckr" + "_pat_{b27}"),
    "Artifactory": ("ARTIFACTORY_API_KEY", "AK" + "Cp8{a64}"),
    "Terraform Cloud": ("TFE_TOKEN", "{a14}.atlas" + "v1.{b67}"),
    "Pulumi": ("PULUMI_ACCESS_TOKEN", "pu" + "l-{h40}"),
    "Vault": ("VAULT_TOKEN", "hv" + "s.CAESI{b90}"),
    "Doppler": ("DOPPLER_TOKEN", "dp" + ".pt.{a43}"),
    "1Password": ("OP_SERVICE_ACCOUNT_TOKEN", "op" + "s_eyJ{B250}"),
    "1Password secret": ("OP_SECRET_KEY", "A3-{U6}-{U6}-{U5}-{U5}-{U5}-{U5}"),
    "Bitwarden": ("BWS_ACCESS_TOKEN", "0.{uuid}.{a30}:{B22}=="),
    "age": ("SOPS_AGE_KEY", "AGE-SECRET" + "-KEY-1{C58}"),
    "Tailscale": ("TS_AUTHKEY", "ts" + "key-auth-{a17}-{a32}"),
    "ngrok": ("NGROK_AUTHTOKEN", "{a27}_{a21}"),
    "OpenAI": ("OPENAI_API_KEY", "sk" + "-proj-{b74}T3Blbk" + "FJ{b74}"),
    "Anthropic": ("ANTHROPIC_API_KEY", "sk" + "-ant-api03-{b93}AA"),
    "Hugging Face": ("HF_TOKEN", "h" + "f_{s34}"),
    "Replicate": ("REPLICATE_API_TOKEN", "r" + "8_{a37}"),
    "Groq": ("GROQ_API_KEY", "gs" + "k_{a52}"),
    "xAI": ("XAI_API_KEY", "xa" + "i-{a80}"),
    "Perplexity": ("PERPLEXITY_API_KEY", "pp" + "lx-{a48}"),
    "OpenRouter": ("OPENROUTER_API_KEY", "sk" + "-or-v1-{h64}"),
    "DeepSeek": ("DEEPSEEK_API_KEY", "sk" + "-{h32}"),
    "NVIDIA": ("NVIDIA_API_KEY", "nva" + "pi-{b64}"),
    "Fireworks": ("FIREWORKS_API_KEY", "fw_{a24}"),
    "LangSmith": ("LANGSMITH_API_KEY", "ls" + "v2_pt_{h32}_{h10}"),
    "Langfuse": ("LANGFUSE_SECRET_KEY", "sk" + "-lf-{uuid}"),
    "ElevenLabs": ("ELEVENLABS_API_KEY", "sk" + "_{h48}"),
    "Pinecone": ("PINECONE_API_KEY", "pc" + "sk_{a6}_{a63}"),
    "Tavily": ("TAVILY_API_KEY", "tv" + "ly-dev-{a32}"),
    "Slack": ("SLACK_BOT_TOKEN", "xo" + "xb-{d12}-{d13}-{a24}"),
    "Slack app": ("SLACK_APP_TOKEN", "xa" + "pp-1-A{U10}-{d13}-{h64}"),
    "Slack web hook": ("SLACK_WEBHOOK_URL", "https://hooks.slack.com/services/T{U10}/B{U10}/{a24}"),
    "Discord bot": ("DISCORD_TOKEN", "MT{a24}.G{a5}.{b38}"),
    "Discord web hook": ("DISCORD_WEBHOOK_URL", "https://discord.com/api/webhooks/{d19}/{b68}"),
    "Telegram": ("TELEGRAM_BOT_TOKEN", "{d10}:AA{b33}"),
    "Twilio": ("TWILIO_API_KEY", "SK{h32}"),
    "SendGrid": ("SENDGRID_API_KEY", "SG.{b22}.{b43}"),
    "Mailgun": ("MAILGUN_API_KEY", "key-{h32}"),
    "Mailgun, newer": ("MAILGUN_API_KEY", "{h32}-{h8}-{h8}"),
    "Mailchimp": ("MAILCHIMP_API_KEY", "{h32}-us14"),
    "Mandrill": ("MANDRILL_API_KEY", "md-{b22}"),
    "Brevo": ("BREVO_API_KEY", "xkey" + "sib-{h64}-{a16}"),
    "Resend": ("RESEND_API_KEY", "re_{a8}_{a24}"),
    "Stripe": ("STRIPE_SECRET_KEY", "sk" + "_live_{a24}"),
    "Stripe, restricted": ("STRIPE_RESTRICTED_KEY", "rk" + "_live_51{a97}"),
    "Stripe web hook": ("STRIPE_WEBHOOK_SECRET", "wh" + "sec_{a32}"),
    "Square": ("SQUARE_ACCESS_TOKEN", "EAAA{b60}"),
    "Square OAuth": ("SQUARE_APP_SECRET", "sq0" + "csp-{b43}"),
    "Braintree": ("BRAINTREE_ACCESS_TOKEN", "access_token" + "$production${l16}${h32}"),
    "Plaid access": ("PLAID_ACCESS_TOKEN", "access-production-{uuid}"),
    "Razorpay": ("RAZORPAY_KEY_ID", "rzp" + "_live_{a14}"),
    "Flutterwave": ("FLW_SECRET_KEY", "FLW" + "SECK-{h32}-X"),
    "Shopify": ("SHOPIFY_ACCESS_TOKEN", "sh" + "pat_{h32}"),
    "Linear": ("LINEAR_API_KEY", "lin" + "_api_{a40}"),
    "Notion": ("NOTION_TOKEN", "nt" + "n_{d11}{a35}"),
    "Notion, older": ("NOTION_TOKEN", "secret_{a43}"),
    "Airtable": ("AIRTABLE_TOKEN", "pat{a14}.{h64}"),
    "Figma": ("FIGMA_TOKEN", "fi" + "gd_{b40}"),
    "Postman": ("POSTMAN_API_KEY", "PM" + "AK-{h24}-{h34}"),
    "Asana": ("ASANA_ACCESS_TOKEN", "2/{d16}/{d16}:{h32}"),
    "Trello": ("TRELLO_TOKEN", "AT" + "TA{h64}{U8}"),
    "Sentry": ("SENTRY_AUTH_TOKEN", "sn" + "tryu_{h64}"),
    "Sentry, organization": ("SENTRY_AUTH_TOKEN", "sn" + "trys_eyJpYXQiOjE3{B120}=_{B43}"),
    "Grafana": ("GRAFANA_TOKEN", "gl" + "sa_{a32}_{h8}"),
    "Grafana Cloud": ("GRAFANA_CLOUD_TOKEN", "gl" + "c_eyJvIjoi{B120}=="),
    "New Relic": ("NEW_RELIC_API_KEY", "NR" + "AK-{U27}"),
    "New Relic license": ("NEW_RELIC_LICENSE_KEY", "{h36}FFFF" + "NRAL"),
    "Dynatrace": ("DT_API_TOKEN", "dt0" + "c01.{U24}.{U64}"),
    "Honeycomb": ("HONEYCOMB_API_KEY", "hcaik_01{l56}"),
    "Mapbox": ("MAPBOX_TOKEN", "sk.eyJ1Ijoi{b60}.{b22}"),
    "Dropbox": ("DROPBOX_TOKEN", "sl.{b130}"),
    "Facebook": ("FACEBOOK_ACCESS_TOKEN", "EAA" + "{a160}"),
    "Twitter bearer": ("TWITTER_BEARER_TOKEN", "AAAAAAAAAAAAAAAAAAAAA{a20}%2B{a40}%3D{a20}"),
    "HubSpot": ("HUBSPOT_TOKEN", "pat-na1-{uuid}"),
    "Contentful": ("CONTENTFUL_TOKEN", "CF" + "PAT-{b43}"),
    "Prefect": ("PREFECT_API_KEY", "pn" + "u_{l36}"),
    "Typeform": ("TYPEFORM_TOKEN", "tf" + "p_{a44}_{a14}"),
    "Sourcegraph": ("SRC_ACCESS_TOKEN", "sg" + "p_{h40}"),
    "EasyPost": ("EASYPOST_API_KEY", "EZ" + "AK{a54}"),
    "Shippo": ("SHIPPO_TOKEN", "shippo" + "_live_{h40}"),
    "Ethereum": ("ETH_PRIVATE_KEY", "0x{h64}"),
    "Bitcoin": ("WALLET_KEY", "xprv9s21ZrQH143K{595}"),
    "Nostr": ("NOSTR_KEY", "ns" + "ec1{c58}"),
    "PASETO": ("SESSION_TOKEN", "v4" + ".local.{b120}"),
    "web token": ("ID_TOKEN", "{jwt}"),
    "encrypted web token": ("ID_TOKEN", "eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2R0NNIn0..{b16}.{b80}.{b22}"),
}

KEYS: dict[str, tuple[str, str]] = {
    # Of these, the form alone is that of any long number or word, or of an id.
    "AWS secret": ("AWS_SECRET_ACCESS_KEY", "{B40}"),
    "Alibaba secret": ("ALIBABA_CLOUD_ACCESS_KEY_SECRET", "{a30}"),
    "Azure OpenAI": ("AZURE_OPENAI_API_KEY", "{h32}"),
    "Azure DevOps, older": ("AZURE_DEVOPS_EXT_PAT", "{252}"),
    "IBM Cloud": ("IBMCLOUD_API_KEY", "{b44}"),
    "Linode": ("LINODE_TOKEN", "{h64}"),
    "Hetzner": ("HCLOUD_TOKEN", "{a64}"),
    "Scaleway": ("SCW_SECRET_KEY", "{uuid}"),
    "Vultr": ("VULTR_API_KEY", "{U36}"),
    "Heroku, older": ("HEROKU_API_KEY", "{uuid}"),
    "Vercel": ("VERCEL_TOKEN", "{a24}"),
    "Cloudflare": ("CLOUDFLARE_API_TOKEN", "{b40}"),
    "Cloudflare global": ("CLOUDFLARE_API_KEY", "{h37}"),
    "Fastly": ("FASTLY_API_TOKEN", "{b32}"),
    "Travis": ("TRAVIS_TOKEN", "{b22}"),
    "Jenkins": ("JENKINS_API_TOKEN", "11{h32}"),
    "Snyk, older": ("SNYK_TOKEN", "{uuid}"),
    "Codecov": ("CODECOV_TOKEN", "{uuid}"),
    "Mistral": ("MISTRAL_API_KEY", "{a32}"),
    "Cohere": ("COHERE_API_KEY", "{a40}"),
    "Together": ("TOGETHER_API_KEY", "{h64}"),
    "Weights & Biases": ("WANDB_API_KEY", "{h40}"),
    "Algolia": ("ALGOLIA_ADMIN_KEY", "{h32}"),
    "Twilio auth": ("TWILIO_AUTH_TOKEN", "{h32}"),
    "Postmark": ("POSTMARK_SERVER_TOKEN", "{uuid}"),
    "PayPal": ("PAYPAL_CLIENT_SECRET", "E{b79}"),
    "Plaid": ("PLAID_SECRET", "{h30}"),
    "Coinbase": ("COINBASE_API_SECRET", "{a32}"),
    "Okta": ("OKTA_API_TOKEN", "00{b40}"),
    "Auth0": ("AUTH0_CLIENT_SECRET", "{b64}"),
    "Datadog": ("DD_API_KEY", "{h32}"),
    "Datadog app": ("DD_APP_KEY", "{h40}"),
    "PagerDuty": ("PAGERDUTY_TOKEN", "u+{b18}"),
    "Splunk": ("SPLUNK_HEC_TOKEN", "{uuid}"),
    "Elastic": ("ELASTIC_API_KEY", "{B58}=="),
    "Zendesk": ("ZENDESK_TOKEN", "{a40}"),
    "Bitwarden client": ("BW_CLIENTSECRET", "{a30}"),
    "WireGuard": ("WG_PRIVATE_KEY", "{B43}="),
    "Rails": ("RAILS_MASTER_KEY", "{h32}"),
    "Phoenix": ("SECRET_KEY_BASE", "{B64}"),
    "Django": ("DJANGO_SECRET_KEY", "django-insecure-{a20}$w(8&{a10}#z7@{a12}"),
    "session id": ("SESSION_SECRET", "{a26}"),
    "database password": ("PGPASSWORD", "{a9}!{a4}"),
    "SMTP password": ("SMTP_PASSWORD", "{a12}"),
    "passphrase": ("GPG_PASSPHRASE", "{a8}%{a8}"),
    "kubeadm": ("KUBEADM_TOKEN", "{l6}.{l16}"),
}

TEXTS: dict[str, str] = {
    # Texts with a secret between « and ».
    "Azure signature": "https://shop.blob.core.windows.net/a?sv=2022-11-02&sig=«{a40}%2B%3D»&se=2026-01-01",
    "Azure Cosmos": "AccountEndpoint=https://shop.documents.azure.com:443/;AccountKey=«{B86}==»;",
    "PostgreSQL": "postgres://shop:«{a14}»@db.internal:5432/orders",
    "MySQL": "mysql://root:«{a6}!{a6}»@127.0.0.1/shop",
    "MongoDB": "mongodb+srv://ada:«{a16}»@c0.x1y2.mongodb.net/shop?retryWrites=true",
    "Redis": "redis://:«{a20}»@cache:6379/0",
    "AMQP": "amqps://jobs:«{a18}»@mq.internal/vhost",
    "SMTP": "smtp://mailer:«{a12}»@smtp.internal:587",
    "JDBC": "jdbc:postgresql://db:5432/shop?user=ada&password=«{a14}»",
    "ODBC": "Driver=x;Server=db;Uid=ada;Pwd=«{a6}#{a6}»;",
    "proxy": "http://ada:«{a12}»@proxy.internal:3128",
    "Sentry DSN": "https://«{h32}»@o1.ingest.sentry.io/4501",
    "basic login": "Authorization: Basic «{basic}»",
    "bearer": "Authorization: Bearer «{a40}»",
    "cookie": "Cookie: lang=en; session=«{a32}»; theme=dark",
    "cookie that is set": "Set-Cookie: sid=«{b43}»; Path=/; HttpOnly",
    "one-time passwords": "otpauth://totp/Shop:ada@x.org?secret=«{232}»&issuer=Shop",
    "recovery phrase": "mnemonic: «{words12}»",
    "netrc": "machine git.internal login ada password «{a14}»",
    "pgpass": "db.internal:5432:shop:ada:«{a14}»",
    "htpasswd": "htpasswd -b /etc/nginx/users ada «{a7}!{a6}»",
    "password's hash": "ada:«$2y$10${a53}»",
    "shadow": "ada:«$6${a16}${a86}»:19700:0:99999:7:::",
    "login of curl": "curl -u ada:«{a14}» https://api.internal/",
    "mysql": "mysql -u root -p«{a14}» shop",
    "sshpass": "sshpass -p «{a14}» ssh ada@host",
    "docker login": "docker login -u ada -p «{a20}» reg.io",
    "redis-cli": "redis-cli -h cache -a «{a20}» ping",
    "build argument": "docker build --build-arg NPM_TOKEN=«{a36}» .",
    "Docker's file": '"auths":{"reg.io":{"auth":"«{basic}»"}}',
    "npm's file": "//registry.npmjs.org/:_authToken=«{uuid}»",
    "Kubernetes": "kind: Secret\nstringData:\n  admin: «{s12}»\n",
    "Kubernetes, encoded": "kind: Secret\ndata:\n  password: «{B22}==»\n",
    "kubeconfig": "client-key-data: «LS0tLS1CRUdJTi{B220}»",
    "private key": "«-----BEGIN RSA " + "PRIVATE KEY-----\n{B64}\n{B64}\n{B64}\n-----END RSA " + "PRIVATE KEY-----»",
    "OpenSSH": "«-----BEGIN OPENSSH "
    "PRIVATE KEY-----\nb3BlbnNzaC1rZXk{B55}\n{B70}\n{B38}==\n-----END OPENSSH "
    "PRIVATE KEY-----»",
    "PuTTY": "PuTTY-User-Key-File-3: ssh-ed25519\nPrivate-Lines: 2\n«{B64}\n{B60}==»\nPrivate-MAC: {h64}",
    "Laravel": "APP_KEY=base64:«{B43}=»",
    "French": "le mot de passe est «{a8}!{a3}»",
    "Polish": "hasło to «{a8}!{a3}»",
    "Korean": "비밀번호는 «{a8}!{a3}» 입니다",
    "Arabic": "كلمة المرور هي «{a8}!{a3}»",
    "Chinese": "密码是«{a8}!{a3}»",
    "Japanese": "パスワードは«{a8}!{a3}»です",
    "Russian": "пароль: «{a8}!{a3}»",
    "Spanish": "la contraseña es «{a8}!{a3}»",
    "German": "das Passwort lautet «{a8}!{a3}»",
    "Portuguese": "a senha é «{a8}!{a3}»",
    "Italian": "la password è «{a8}!{a3}»",
    "Dutch": "het wachtwoord is «{a8}!{a3}»",
    "Turkish": "parola: «{a8}!{a3}»",
}


def _drawn(name: str, draw: Draw) -> str:
    """Draw characters for one brace of a format."""
    match name:
        case "uuid":
            return "-".join(draw.word(length, HEXADECIMAL) for length in (8, 4, 4, 4, 12))
        case "jwt":
            return draw.web_token()
        case "basic":
            return base64.b64encode(f"ada:{draw.mixed(12)}".encode()).decode()
        case "words12":
            return draw.words(12)
    length, letters = int(name[1:]), CHARACTERS[name[0]]
    return draw.mixed(length, letters) if name[0] in "abB" and length > 4 else draw.word(length, letters)


@dataclass(frozen=True)
class Secret:
    """A secret with the name of its variable, or with the text around it.

    Attributes:
        pieces: Drawn parts of it, of which none may be left over.
    """

    service: str
    variable: str
    before: str
    value: str
    after: str
    pieces: frozenset[str]

    @property
    def words(self) -> str:
        return self.variable.lower().replace("_", " ")


def secret_of(service: str, variable: str, form: str, draw: Draw) -> Secret:
    before, form, after = re.split("[«»]", form) if "«" in form else ("", form, "")
    texts = re.split(r"\{(\w+)\}", form)
    texts[1::2] = [_drawn(name, draw) for name in texts[1::2]]
    pieces = frozenset(piece for drawn in texts[1::2] for piece in pieces_of(drawn))
    around = [re.sub(r"\{(\w+)\}", lambda match: _drawn(match[1], draw), text) for text in (before, after)]
    return Secret(service, variable, around[0], "".join(texts), around[1], pieces)


def secrets_of(seed: int) -> list[Secret]:
    """One secret of each kind."""
    draw = Draw(seed)
    named = [secret_of(kind, variable, form, draw) for kind, (variable, form) in (TOKENS | KEYS).items()]
    return [*named, *(secret_of(kind, "", form, draw) for kind, form in TEXTS.items())]


SURROUNDINGS: Mapping[str, tuple[str, str]] = {
    # The texts before and after a value: NAME, lower and HYPHENS replace its variable, KIND its words.
    "shell history": ("  501  cd shop\n  502  export NAME=", "\n  503  make deploy\n"),
    "env file": ("APP=shop\nNAME=", "\nPORT=8080\n"),
    "JSON": ('{"app": "shop", "lower": "', '", "port": 8080}'),
    "YAML": ("app: shop\nenv:\n  lower: ", "\n  port: 8080\n"),
    "URL": ("GET https://api.internal/v1/items?lower=", "&page=2"),
    "header": ("POST /v1 HTTP/1.1\nHost: api.internal\nX-HYPHENS: ", "\nAccept: */*\n"),
    "log line": ("2026-03-04T05:06:07Z INFO app.main: using KIND ", " (12 ms)"),
    "code": ('def connect():\n    return Client(lower="', '", retries=3)\n'),
    "prose": ("I have found it: the KIND is ", ". Please replace it soon."),
    "table": ("| name | value | used by |\n| --- | --- | --- |\n| KIND | ", " | shop |\n"),
    "diff": ("@@ -1,2 +1,2 @@\n APP=shop\n+NAME=", "\n PORT=8080\n"),
}
BARE: Mapping[str, tuple[str, str]] = {
    "shell history": ("  501  cd shop\n  502  deploy ", " --fast\n  503  ls\n"),
    "env file": ("APP=shop\nVALUE=", "\nPORT=8080\n"),
    "JSON": ('{"app": "shop", "value": "', '", "port": 8080}'),
    "YAML": ("app: shop\nvalues:\n  - ", "\n  - 8080\n"),
    "URL": ("GET https://api.internal/v1/items?v=", "&page=2"),
    "header": ("POST /v1 HTTP/1.1\nHost: api.internal\nX-Value: ", "\nAccept: */*\n"),
    "log line": ("2026-03-04T05:06:07Z INFO app.main: got ", " (12 ms)"),
    "code": ('def connect():\n    return Client("', '", retries=3)\n'),
    "prose": ("I have found ", " there. Please replace it soon."),
    "table": ("| name | value | used by |\n| --- | --- | --- |\n| it | ", " | shop |\n"),
    "diff": ("@@ -1,2 +1,2 @@\n APP=shop\n+VALUE=", "\n PORT=8080\n"),
}
"""Surroundings without a name."""


def placed(one: Secret, surrounding: str, *, is_named: bool) -> Dressed:
    """A secret in a surrounding, named there or not; one with a text of its own is in that."""
    before, after = (SURROUNDINGS if is_named and one.variable else BARE)[surrounding]
    if one.variable:
        name = one.variable.lower()
        for word, text in (
            ("HYPHENS", name.replace("_", "-")),
            ("KIND", one.words),
            ("NAME", one.variable),
            ("lower", name),
        ):
            before = before.replace(word, text)
    said: Callable[[str], str] = str
    if surrounding == "JSON":
        said = in_json
    elif surrounding == "URL":
        said = quote
    elif surrounding == "code":
        said = in_json
    elif surrounding == "YAML" and "\n" in one.value + one.before:
        before, said = "app: shop\nkey: |\n    ", lambda text: text.replace("\n", "\n    ")
    elif surrounding == "diff":
        said = lambda text: text.replace("\n", "\n+")  # noqa: E731
    return Dressed(before + said(one.before), said(one.value), said(one.after) + after)


def is_left_over(one: Secret, dressed: Dressed, shown: str) -> bool:
    """True if a drawn part of a secret is in a shown text, and in no text around it."""
    return any(piece in shown and piece not in dressed.before + dressed.after for piece in one.pieces)
