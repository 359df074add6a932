"""HTML as mail programs and job sites really send it: tables in tables, styles on every cell, links that count clicks."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from email import policy
from email.message import EmailMessage
from html import escape

CELL = (
    "font-family:-apple-system,BlinkMacSystemFont,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;font-size:{size}px;"
    "line-height:{line}px;color:#{color};mso-line-height-rule:exactly;-webkit-text-size-adjust:100%;"
)

HEAD = """<!DOCTYPE html>
<html lang="en" xmlns="http://www.w3.org/1999/xhtml" xmlns:o="urn:schemas-microsoft-com:office:office">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="x-apple-disable-message-reformatting">
<title>{title}</title>
<style>
table, td, div, h1, p {{ font-family: -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif; }}
@media screen and (max-width: 530px) {{
  .unsub {{ display: block; padding: 8px; margin-top: 14px; border-radius: 6px; background-color: #555555; text-decoration: none !important; font-weight: bold; }}
  .col-lge {{ max-width: 100% !important; }}
  .button {{ width: 100% !important; }}
}}
@media screen and (min-width: 531px) {{ .col-sml {{ max-width: 27% !important; }} .col-lge {{ max-width: 73% !important; }} }}
</style>
</head>
"""


@dataclass(frozen=True)
class Posting:
    """A job listed on a site.

    Attributes:
        number: The site's number of it.
        title: Job title.
        company: Employer.
        place: Location.
        pay: Yearly pay as written.
        age: Time since it was listed.
        applicants: Number of applicants.
        text: Description by the company, paragraph by paragraph.
        wants: Requirements.
    """

    number: int
    title: str
    company: str
    place: str
    pay: str
    age: str
    applicants: int
    text: tuple[str, ...]
    wants: tuple[str, ...]


def tracked(host: str, target: str, place: str) -> str:
    """Return a link that counts clicks, with the usual tail of parameters."""
    digest = hashlib.sha256(f"{host}{target}{place}".encode()).hexdigest()
    return (
        f"https://{host}/ls/click?upn=u001.{digest[:40]}&amp;u={target}&amp;utm_source=digest&amp;utm_medium=email"
        f"&amp;utm_campaign=daily&amp;utm_content={place}&amp;mid={digest[40:56]}&amp;rid={digest[56:]}"
    )


def cell(text: str, size: int = 14, line: int = 21, color: str = "3d3d3d", padding: str = "0 24px 12px 24px") -> str:
    """Return a table row with one cell."""
    style = CELL.format(size=size, line=line, color=color)
    return f'<tr><td align="left" valign="top" style="padding:{padding};{style}">{text}</td></tr>\n'


def button(label: str, link: str) -> str:
    """Return a row with a button that also works in old mail programs."""
    return cell(
        f'<!--[if mso]><v:roundrect href="{link}" style="height:40px;v-text-anchor:middle;width:180px;" arcsize="10%" '
        f'stroke="f" fillcolor="#0a66c2"><center><![endif]--><a class="button" href="{link}" style="background:#0a66c2;'
        "border-radius:20px;color:#ffffff;display:inline-block;font-weight:600;line-height:40px;padding:0 20px;"
        f'text-align:center;text-decoration:none;">{label}</a><!--[if mso]></center></v:roundrect><![endif]-->',
        padding="4px 24px 28px 24px",
    )


def digest_mail(title: str, greeting: str, postings: list[Posting], host: str) -> str:
    """Return a daily mail with job offers."""
    rows = [cell(f"<b>{escape(title)}</b>", 22, 28, "191919", "32px 24px 8px 24px"), cell(escape(greeting))]
    for posting in postings:
        link = tracked(host, f"jobs/{posting.number}", "card")
        pixel = tracked(host, "pixel", str(posting.number))
        rows.append(
            cell(
                f'<img src="https://media.{host}/logo/{posting.number}_100.png" width="48" height="48" alt="{escape(posting.company)}" '
                'style="border:0;display:block;outline:none;text-decoration:none;border-radius:4px;">',
                padding="16px 24px 8px 24px",
            )
        )
        rows.append(
            cell(
                f'<a href="{link}" style="color:#0a66c2;text-decoration:none;"><b>{escape(posting.title)}</b></a>',
                16,
                22,
            )
        )
        rows.append(cell(f"{escape(posting.company)} &middot; {escape(posting.place)}", 14, 20, "191919"))
        rows.append(
            cell(
                f"{escape(posting.pay)} &middot; {posting.age} &middot; {posting.applicants} applicants",
                12,
                18,
                "666666",
            )
        )
        rows.append(cell(escape(posting.text[0])))
        rows.append(button("View job", link))
        rows.append(
            f'<tr><td style="padding:0;font-size:0;line-height:0;"><img src="{pixel}" width="1" height="1" alt=""></td></tr>\n'
        )
    foot = tracked(host, "settings", "footer")
    rows.append(
        cell(
            f'You receive this mail because you asked for daily job alerts. <a href="{foot}" class="unsub" '
            'style="color:#666666;text-decoration:underline;">Unsubscribe</a> &middot; Registered office: 1 Example Square.',
            11,
            16,
            "8f8f8f",
            "24px",
        )
    )
    return (
        HEAD.format(title=escape(title))
        + '<body style="margin:0;padding:0;word-spacing:normal;background-color:#f3f2ef;">\n'
        + '<div role="article" aria-roledescription="email" lang="en" style="text-size-adjust:100%;background-color:#f3f2ef;">\n'
        + '<table role="presentation" style="width:100%;border:none;border-spacing:0;"><tr><td align="center" style="padding:0;">\n'
        + '<table role="presentation" style="width:94%;max-width:600px;border:none;border-spacing:0;background:#ffffff;">\n'
        + "".join(rows)
        + "</table>\n</td></tr></table>\n</div>\n</body>\n</html>\n"
    )


def personal_mail(paragraphs: list[str], signature: list[str], quoted: str) -> str:
    """Return a mail written in an office program, with the mail it answers below."""
    style = "margin:0cm;font-size:11.0pt;font-family:Calibri,sans-serif;mso-fareast-language:EN-US"
    body = "".join(
        f'<p class="MsoNormal" style="{style}"><span lang="EN-GB">{escape(p)}<o:p></o:p></span></p>\n'
        for p in paragraphs
    )
    lines = "".join(
        f'<p class="MsoNormal" style="{style};color:#1F497D"><span>{escape(s)}<o:p></o:p></span></p>\n'
        for s in signature
    )
    return (
        '<html xmlns:v="urn:schemas-microsoft-com:vml" xmlns:o="urn:schemas-microsoft-com:office:office">\n<head>'
        '<meta http-equiv="Content-Type" content="text/html; charset=utf-8"><style><!-- @font-face {font-family:Calibri; '
        "panose-1:2 15 5 2 2 2 4 3 2 4;} p.MsoNormal {margin:0cm; font-size:11.0pt;} --></style></head>\n"
        f'<body lang="EN-GB" link="#0563C1" vlink="#954F72">\n<div class="WordSection1">\n{body}{lines}'
        '<div style="border:none;border-top:solid #E1E1E1 1.0pt;padding:3.0pt 0cm 0cm 0cm">\n'
        f'<blockquote style="margin-left:0;border-left:2px solid #cccccc;padding-left:8px">{escape(quoted)}</blockquote>\n'
        "</div></div>\n</body>\n</html>\n"
    )


def mail(sender: str, subject: str, date: str, html: str) -> str:
    """Return a whole message as a mail program stores it."""
    message = EmailMessage(policy=policy.SMTP.clone(linesep="\n", max_line_length=None, cte_type="8bit"))
    message["From"] = sender
    message["To"] = "Sam Ortega <sam@example.org>"
    message["Subject"] = subject
    message["Date"] = date
    message["MIME-Version"] = "1.0"
    message.set_content(html, subtype="html", cte="8bit")
    return message.as_string()


def listing(query: str, postings: list[Posting]) -> str:
    """Return a job site's page of results, as fetched."""
    cards = []
    for position, posting in enumerate(postings):
        link = f"https://jobs.example/view/{posting.number}?position={position}&amp;pageNum=0&amp;refId={tracked('jobs.example', posting.title, 'ref')[-18:]}"
        cards.append(
            f'<li class="jobs-search__result" data-entity-urn="urn:li:jobPosting:{posting.number}" data-row="{position}">\n'
            f'<div class="base-card relative w-full hover:no-underline focus:no-underline base-card--link base-search-card job-search-card" data-impression-id="jobs-search-result-{position}">\n'
            f'<a class="base-card__full-link absolute top-0 right-0 bottom-0 left-0 p-0 z-[2] outline-offset-[4px]" href="{link}" data-tracking-will-navigate><span class="sr-only">{escape(posting.title)}</span></a>\n'
            f'<div class="search-entity-media"><img class="artdeco-entity-image artdeco-entity-image--square-4" data-delayed-url="https://media.jobs.example/{posting.number}/logo_100_100" alt=""></div>\n'
            f'<div class="base-search-card__info"><h3 class="base-search-card__title">{escape(posting.title)}</h3>'
            f'<h4 class="base-search-card__subtitle"><a class="hidden-nested-link" data-tracking-control-name="public_jobs_jserp-result_job-search-card-subtitle" href="https://jobs.example/company/{posting.company.lower().replace(" ", "-")}">{escape(posting.company)}</a></h4>\n'
            f'<div class="base-search-card__metadata"><span class="job-search-card__location">{escape(posting.place)}</span>'
            f'<span class="job-search-card__salary-info">{escape(posting.pay)}</span><time class="job-search-card__listdate">{posting.age}</time>'
            f'<span class="job-posting-benefits text-sm"><icon class="job-posting-benefits__icon" data-delayed-url="https://static.jobs.example/sc/h/8zmuwb93gzlb935fk4ao4z779"></icon>{posting.applicants} applicants</span></div>\n'
            f'<p class="job-search-card__snippet">{escape(posting.text[0])}</p></div></div></li>\n'
        )
    return (
        f'<main id="main-content" role="main"><h1 class="results-context-header__context"><span class="results-context-header__job-count">{len(postings)}</span>'
        f'<span class="results-context-header__query-search"> {escape(query)}</span></h1>\n<ul class="jobs-search__results-list">\n'
        + "".join(cards)
        + "</ul></main>\n"
    )


def detail(posting: Posting, similar: list[Posting]) -> str:
    """Return the page of one job, with the site's list of similar ones below it."""
    text = "".join(f"<p><span>{escape(paragraph)}</span></p><p><br></p>\n" for paragraph in posting.text)
    wants = "".join(
        f'<li class="description__job-criteria-item"><span>{escape(want)}</span></li>\n' for want in posting.wants
    )
    return (
        f'<section class="core-section-container my-3 description" data-job-id="{posting.number}">\n'
        f'<h2 class="top-card-layout__title font-sans text-lg papabear:text-xl font-bold leading-open text-color-text mb-0">{escape(posting.title)}</h2>\n'
        f'<h4 class="top-card-layout__second-subline"><span class="topcard__flavor">{escape(posting.company)}</span><span class="topcard__flavor topcard__flavor--bullet">{escape(posting.place)}</span>'
        f'<span class="posted-time-ago__text topcard__flavor--metadata">{posting.age}</span><span class="num-applicants__caption">{posting.applicants} applicants</span></h4>\n'
        f'<div class="compensation__salary-range"><div class="salary compensation__salary">{escape(posting.pay)}</div></div>\n'
        f'<div class="show-more-less-html__markup show-more-less-html__markup--clamp-after-5 relative overflow-hidden">\n{text}<strong>What we ask for</strong><ul>\n{wants}</ul></div>\n'
        "</section>\n" + listing("Similar jobs", similar)
    )
