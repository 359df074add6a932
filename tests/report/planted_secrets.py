"""Made-up secrets of many kinds, each in many surroundings. None was ever valid, none is one of anybody's."""

from __future__ import annotations

import base64
import json
import random
import re
import string
from html import escape
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Callable

LETTERS = string.ascii_letters + string.digits
UPPER = string.ascii_uppercase + string.digits
HEXADECIMAL = "0123456789abcdef"
SHORTEST_PIECE = 4
"""Letters and digits of a secret that must not be left over together."""

SYLLABLES = [first + last for first in "bdfghklmnprstvz" for last in "aeo"]


def pieces_of(secret: str) -> set[str]:
    return set(re.findall(rf"[A-Za-z0-9]{{{SHORTEST_PIECE},}}", secret))


class Planted(NamedTuple):
    before: str
    secret: str
    after: str = ""


class Draw:
    """Draws made-up secrets, always the same ones for a seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311  nothing is protected by it

    def word(self, length: int, letters: str = LETTERS) -> str:
        return "".join(self._random.choices(letters, k=length))

    def mixed(self, length: int, letters: str = LETTERS) -> str:
        """A word with a small letter, a capital and a digit in it at least."""
        while True:
            word = self.word(length, letters)
            if re.search("[a-z]", word) and re.search("[A-Z]", word) and re.search("[0-9]", word):
                return word

    def password(self, length: int = 14) -> str:
        return self.mixed(length - 3) + self._random.choice("!@#%^*+") + "7w"

    def card(self) -> str:
        digits = "4" + self.word(14, string.digits)
        doubled = [2 * int(digit) for digit in digits[::-2]]
        total = sum(each - 9 if each > 9 else each for each in doubled) + sum(int(digit) for digit in digits[-2::-2])
        number = digits + str(-total % 10)
        return " ".join(number[place : place + 4] for place in range(0, 16, 4))

    def words(self, count: int) -> str:
        return " ".join("".join(self._random.sample(SYLLABLES, 3)) for _ in range(count))

    def web_token(self) -> str:
        def part(value: dict[str, object]) -> str:
            return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()

        return f"{part({'alg': 'HS256', 'typ': 'JWT'})}.{part({'sub': self.word(12), 'iat': 17})}.{self.mixed(43)}"

    def private_key(self) -> str:
        lines = "\n".join(self.mixed(64) for _ in range(6))
        return "-----BEGIN RSA " + f"PRIVATE KEY-----\n{lines}\n-----END RSA " + "PRIVATE KEY-----"


KINDS: dict[str, Callable[[Draw], Planted]] = {
    "AWS key id": lambda draw: Planted("used ", "AK" + "IA" + draw.word(16, UPPER), " for it"),
    "AWS secret key by its name": lambda draw: Planted("aws_secret_access_key = ", draw.mixed(40, LETTERS + "/+")),
    "AWS secret key alone": lambda draw: Planted("found ", draw.mixed(40), " in the log"),
    "GitHub": lambda draw: Planted("clone with ", "gh" + "p_" + draw.mixed(36)),
    "GitHub, fine-grained": lambda draw: Planted("remote: ", "github" + "_pat_" + draw.word(22) + "_" + draw.mixed(59)),
    "GitLab": lambda draw: Planted("PRIVATE-TOKEN ", "gl" + "pat-" + draw.mixed(20), " was used"),
    "Slack": lambda draw: Planted("as ", "xo" + "xb-" + draw.word(12, string.digits) + "-" + draw.mixed(24)),
    "Slack web hook": lambda draw: Planted("POST ", "https://hooks.slack.com/services/T0AAAAAA/B0/" + draw.mixed(24)),
    "Stripe": lambda draw: Planted("charge via ", "sk" + "_live_" + draw.mixed(24)),
    "Anthropic": lambda draw: Planted("x-api-key ", "sk" + "-ant-api03-" + draw.mixed(80)),
    "OpenAI": lambda draw: Planted("using ", "sk" + "-proj-" + draw.mixed(48), " now"),
    "Google": lambda draw: Planted("maps?region=eu&key=", "AI" + "za" + draw.mixed(35)),
    "Hugging Face": lambda draw: Planted("login ", "hf" + "_" + draw.mixed(34)),
    "npm": lambda draw: Planted("//registry/:_authToken=", "np" + "m_" + draw.mixed(36)),
    "PyPI": lambda draw: Planted("upload with ", "py" + "pi-" + draw.mixed(60)),
    "SendGrid": lambda draw: Planted("mail with ", "SG." + draw.mixed(22) + "." + draw.mixed(43)),
    "web token": lambda draw: Planted("session ", draw.web_token()),
    "bearer": lambda draw: Planted("Authorization: Bearer ", draw.mixed(32)),
    "basic": lambda draw: Planted("Authorization: Basic ", base64.b64encode(f"ada:{draw.mixed(12)}".encode()).decode()),
    "private key": lambda draw: Planted("", draw.private_key()),
    "login in an address": lambda draw: Planted("postgres://shop:", draw.mixed(14), "@db.internal:5432/orders"),
    "password in a setting": lambda draw: Planted("DB_PASSWORD=", draw.password()),
    "password in quotes, with escapes": lambda draw: Planted(
        'password = "', f'{draw.mixed(6)}\\"{draw.mixed(6)}\\\\{draw.mixed(5)}', '"'
    ),
    "password as an argument": lambda draw: Planted("vault login --password ", draw.password(), " --verbose"),
    "login as an argument": lambda draw: Planted("curl -u ada:", draw.password(), " https://api.internal/"),
    "cookie": lambda draw: Planted("Cookie: lang=en; session=", draw.mixed(26), "; theme=dark"),
    "Azure signature": lambda draw: Planted(
        "https://shop.blob.core.windows.net/a?sv=2022-11-02&sig=", draw.mixed(43) + "%3D", "&se=2026-01-01"
    ),
    "connection string": lambda draw: Planted(
        "Server=db.internal;Database=shop;User Id=ada;Password=", draw.password(), ";Encrypt=true"
    ),
    "account key": lambda draw: Planted("AccountName=shop;AccountKey=", draw.mixed(86, LETTERS + "+/") + "==", ";X=y"),
    "long hexadecimal number": lambda draw: Planted("salted with ", draw.word(64, HEXADECIMAL), " twice"),
    "long base64": lambda draw: Planted("got ", draw.mixed(63, LETTERS + "+/") + "=", " back"),
    "card number": lambda draw: Planted("paid with ", draw.card(), " today"),
    "recovery phrase": lambda draw: Planted("mnemonic: ", draw.words(12)),
}

VARIANTS: dict[str, Callable[[Draw], Planted]] = {
    "argument with a sign": lambda draw: Planted("login --password=", draw.password()),
    "argument in quotes": lambda draw: Planted("login --password '", draw.password(), "' -v"),
    "token as an argument": lambda draw: Planted("cli --token ", draw.mixed(20)),
    "key as an argument": lambda draw: Planted("cli --api-key=", draw.mixed(24), " go"),
    "login in quotes": lambda draw: Planted('curl --user "ada@x.org:', draw.password(), '" https://x/'),
    "mysql": lambda draw: Planted("mysql -u root -p", draw.password(), " shop"),
    "sshpass": lambda draw: Planted("sshpass -p '", draw.password(), "' ssh a@b"),
    "docker login": lambda draw: Planted("docker login -u ada -p ", draw.password(), " reg.io"),
    "openssl": lambda draw: Planted("openssl rsa -passin pass:", draw.password(), " -in k"),
    "cookie that is set": lambda draw: Planted("Set-Cookie: sid=", draw.mixed(32), "; Path=/; HttpOnly"),
    "cookie as an argument": lambda draw: Planted("curl -b 'theme=dark; sid=", draw.mixed(32), "' https://x"),
    "password in a record": lambda draw: Planted('"password" : "', draw.password(), '",'),
    "password of letters": lambda draw: Planted("{'password': '", draw.word(10, string.ascii_lowercase), "'}"),
    "password in YAML": lambda draw: Planted("password: ", draw.password()),
    "password in a call": lambda draw: Planted("connect(user='ada', password='", draw.password(), "')"),
    "password that is set": lambda draw: Planted('client.setPassword("', draw.password(), '");'),
    "password compared": lambda draw: Planted('if ("', draw.password(), '" == password) {'),
    "password of words": lambda draw: Planted('export DB_PASSWORD="', f"{draw.mixed(6)} {draw.mixed(6)}", '"'),
    "password with signs": lambda draw: Planted("DB_PASSWORD=", f"{draw.mixed(6)}&(#);{draw.mixed(5)}"),
    "password in prose": lambda draw: Planted("the password is ", draw.password(), " and that is it"),
    "password in another language": lambda draw: Planted("密码: ", draw.password()),
    "netrc": lambda draw: Planted("machine x login ada password ", draw.password()),
    "markup": lambda draw: Planted("<add><password>", draw.password(), "</password></add>"),
    "attribute": lambda draw: Planted('<db user="a" password="', draw.password(), '"/>'),
    "authorization without a scheme": lambda draw: Planted("authorization: ", draw.mixed(40)),
    "header of a key": lambda draw: Planted("-H 'X-Api-Key: ", draw.mixed(24), "'"),
    "token in an address": lambda draw: Planted("GET /me?access_token=", draw.mixed(30), "&a=b"),
    "login without a user": lambda draw: Planted("redis://:", draw.password(), "@cache:6379/0"),
    "base64 of a password": lambda draw: Planted("password: ", base64.b64encode(draw.password().encode()).decode()),
    "card without blanks": lambda draw: Planted("card ", draw.card().replace(" ", "")),
    "phrase alone": lambda draw: Planted("", draw.words(12)),
    "phrase of 24 in quotes": lambda draw: Planted('const phrase = "', draw.words(24), '";'),
    "phrase in lines": lambda draw: Planted("seed phrase:\n", draw.words(12).replace(" ", "\n"), "\n"),
    "short hexadecimal number": lambda draw: Planted("key is ", draw.word(32, HEXADECIMAL)),
    "named hexadecimal number": lambda draw: Planted("SECRET_KEY=", draw.word(40, HEXADECIMAL)),
    "base64 for addresses": lambda draw: Planted("got ", draw.mixed(43, LETTERS + "-_"), " back"),
    "small letters and digits": lambda draw: Planted("got ", draw.word(40, string.ascii_lowercase + string.digits)),
    "private key, cut off": lambda draw: Planted("", draw.private_key().partition("\n-----END")[0]),
    "signed address": lambda draw: Planted("https://b.s3.x.com/a?X-Amz-Signature=", draw.word(64, HEXADECIMAL)),
    "shared access key": lambda draw: Planted("Endpoint=sb://x;SharedAccessKey=", draw.mixed(43, LETTERS + "+/") + "="),
    "hash of a password": lambda draw: Planted("ada:", f"$apr1${draw.mixed(8)}${draw.mixed(22)}"),
    "ssh-keygen": lambda draw: Planted("ssh-keygen -t ed25519 -N '", draw.password(), "' -f k"),
    "unzip": lambda draw: Planted("unzip -P ", draw.password(), " a.zip"),
    "7z": lambda draw: Planted("7z x -p", draw.password(), " a.7z"),
    "sqlcmd": lambda draw: Planted("sqlcmd -S db -U sa -P '", draw.password(), "'"),
    "ldapsearch": lambda draw: Planted("ldapsearch -x -D cn=admin -w ", draw.password(), " -b dc=x"),
    "sudo": lambda draw: Planted("echo ", draw.password(), " | sudo -S ls"),
    "encoded login": lambda draw: Planted(
        '"auth": "', base64.b64encode(f"ada:{draw.mixed(12)}".encode()).decode(), '"'
    ),
    "number as a login": lambda draw: Planted("https://", draw.word(32, HEXADECIMAL), "@o1.ingest.sentry.io/1"),
    "token as a login": lambda draw: Planted("git clone https://", draw.mixed(40), "@git.internal/a/b"),
    "thin address": lambda draw: Planted("jdbc:oracle:thin:ada/", draw.password(), "@//db:1521/x"),
    "cookie in a script": lambda draw: Planted('document.cookie = "session=', draw.mixed(26), '; path=/"'),
    "secure string": lambda draw: Planted('ConvertTo-SecureString "', draw.password(), '" -AsPlainText'),
    "call of a login": lambda draw: Planted("smtp.login('ada@x.org', '", draw.password(), "')"),
    "password in SQL": lambda draw: Planted("CREATE USER ada IDENTIFIED BY '", draw.password(), "';"),
    "password of a role": lambda draw: Planted("ALTER ROLE ada WITH PASSWORD '", draw.password(), "';"),
    "pair of a login": lambda draw: Planted("requests.get(url, auth=('ada', '", draw.password(), "'))"),
    "connection in Java": lambda draw: Planted('getConnection(url, "ada", "', draw.password(), '")'),
    "key of a network": lambda draw: Planted('psk="', draw.password(), '"'),
    "key that is a UUID": lambda draw: Planted(
        "HEROKU_API_KEY=", "-".join(draw.word(length, HEXADECIMAL) for length in (8, 4, 4, 4, 12))
    ),
    "PASETO": lambda draw: Planted("sent ", "v4" + ".local." + draw.mixed(90, LETTERS + "-_"), " along"),
    "PASETO, public": lambda draw: Planted("sent ", "v2" + ".public." + draw.mixed(120), " along"),
    "Atlassian": lambda draw: Planted("jira as ", "AT" + "ATT3x" + draw.mixed(60) + "=" + draw.word(8, UPPER), " ok"),
    "Bitbucket": lambda draw: Planted("push with ", "AT" + "BB" + draw.mixed(32), " to it"),
    "New Relic": lambda draw: Planted("agent ", "NR" + "AK-" + draw.word(27, UPPER), " reports"),
    "New Relic, license": lambda draw: Planted("agent ", draw.word(36, HEXADECIMAL) + "NR" + "AL", " reports"),
    "Doppler": lambda draw: Planted("run ", "dp" + ".st.dev." + draw.mixed(43), " now"),
    "Terraform Cloud": lambda draw: Planted("as ", draw.mixed(14) + ".atlas" + "v1." + draw.mixed(67), " to apply"),
    "Kubernetes": lambda draw: Planted(
        "kind: Secret\nstringData:\n  admin: ", draw.word(12, string.ascii_lowercase), "\n"
    ),
    "htpasswd": lambda draw: Planted("htpasswd -bc /etc/nginx/users ada ", draw.password()),
    "htpasswd, printed": lambda draw: Planted("htpasswd -nbB ada ", draw.password()),
    "password in French": lambda draw: Planted("le mot de passe est ", draw.password(), " voilà"),
    "password in Polish": lambda draw: Planted("hasło to ", draw.password(), " i tyle"),
    "password in Korean": lambda draw: Planted("비밀번호는 ", draw.password(), " 입니다"),
    "password in Arabic": lambda draw: Planted("كلمة المرور هي ", draw.password(), " فقط"),
}
"""Other forms of the same."""


class Dressed(NamedTuple):
    before: str
    secret: str
    after: str

    def __str__(self) -> str:
        return "".join(self)


def each(planted: Planted, said: Callable[[str], str], opening: str = "", closing: str = "") -> Dressed:
    """A text written in another way, part by part."""
    return Dressed(opening + said(planted.before), said(planted.secret), said(planted.after) + closing)


def in_json(text: str) -> str:
    return json.dumps(text)[1:-1]


def in_python(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")


def cut(planted: Planted, between: str) -> Dressed:
    """A secret with something in its middle."""
    middle = len(planted.secret) // 2
    while not (planted.secret[middle - 1] + planted.secret[middle]).isalnum():
        middle += 1
    secret = planted.secret[:middle] + between + planted.secret[middle:]
    return Dressed(f"before it\n{planted.before}", secret, f"{planted.after}\nafter it")


SURROUNDINGS: dict[str, Callable[[Planted], Dressed]] = {
    "lines of text": lambda planted: each(planted, str, "before it\n", "\nafter it"),
    "a line of a log": lambda planted: each(planted, str, "2026-03-04T05:06:07Z INFO app.main: ", " (12 ms)"),
    "JSON": lambda planted: each(planted, in_json, '{"stdout": "', '", "exit": 0}'),
    "JSON in JSON": lambda planted: each(
        planted, lambda text: in_json(in_json(text)), '{"arguments": "{\\"command\\": \\"', '\\"}"}'
    ),
    "a list in Python": lambda planted: each(planted, in_python, "['", "', 'b']"),
    "coloured in the middle": lambda planted: cut(planted, "\x1b[0m\x1b[1;32m"),
    "a character that cannot be seen in it": lambda planted: cut(planted, "\u200b"),
    "a line continued in it": lambda planted: cut(planted, "\\\n    "),
}

MORE_SURROUNDINGS: dict[str, Callable[[Planted], Dressed]] = {
    "a page": lambda planted: each(planted, escape, "<pre>", "</pre>"),
    "an address": lambda planted: each(planted, quote, "a?q=", "&b=1"),
    "JSON in JSON in JSON": lambda planted: each(
        planted, lambda text: in_json(in_json(in_json(text))), '"\\"\\\\\\"', '\\\\\\"\\""'
    ),
    "numbered lines": lambda planted: each(planted, lambda text: text.replace("\n", "\n    13\t"), "    12\t", "\n"),
    "a difference": lambda planted: each(planted, lambda text: text.replace("\n", "\n+"), "@@ -1 +1 @@\n+", "\n x"),
    "a table": lambda planted: each(planted, str, "| `", "` | b |"),
}
