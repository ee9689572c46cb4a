//! Names and remarks with injection attempts.
#![forbid(unsafe_code)]

/// Each of them is an attack on a page that does not escape.
pub(crate) const CORPUS: [&str; 28] = [
    "<script>alert(1)</script>",
    "\"><script>alert(2)</script>",
    "'><img src=x onerror=alert(3)>",
    "\" onmouseover=\"alert(4)",
    "' autofocus onfocus='alert(5)",
    "</title><script>alert(6)</script>",
    "</style><svg onload=alert(7)>",
    "<svg/onload=alert(8)>",
    "javascript:alert(9)",
    "<a href=\"javascript:alert(10)\">x</a>",
    "<iframe src=\"//evil.example/\">",
    "<img src=\"http://evil.example/pixel\">",
    "<base href=\"//evil.example/\">",
    "<meta http-equiv=refresh content=\"0;url=//evil.example/\">",
    "<style>@import '//evil.example/x.css'</style>",
    "<form action=//evil.example><button>ok",
    "]]><script>alert(11)</script><![CDATA[",
    "<!--><script>alert(12)</script>-->",
    "&lt;script&gt;alert(13)&lt;/script&gt;",
    "{{constructor.constructor('alert(14)')()}}",
    "\u{202e}txt.exe",
    "../../etc/passwd",
    "..",
    "%2e%2e%2f%00",
    "a?b#c&d=e+f",
    "x\r\nSet-Cookie: x=1",
    "x\u{1b}[31m\u{7}",
    "",
];
