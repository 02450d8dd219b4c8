#include "cli/formats/html_parts.h"
#include "cli/formats/ink.h"

namespace hitproof::cli {
namespace {

const char* const page_style = R"css(
*{box-sizing:border-box}
html{color-scheme:light dark;-webkit-text-size-adjust:100%}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif}
main{max-width:60rem;margin:0 auto;padding:1rem}
article+article{margin-top:3rem;border-top:3px solid var(--rule);padding-top:2rem}
header{border-left:.5rem solid var(--open);padding:.2rem 0 .2rem 1rem;margin:1rem 0 2rem}
header.pass{border-color:var(--good)}header.fail{border-color:var(--bad)}
h1{font-size:1.5rem;line-height:1.25;margin:.2rem 0 .6rem;overflow-wrap:anywhere}
h2{font-size:1.15rem;margin:2.4rem 0 .8rem;border-bottom:1px solid var(--rule);padding-bottom:.3rem}
h3{font-size:1rem;margin:0 0 .4rem}
p{margin:.3rem 0;overflow-wrap:anywhere}
.kind,.soft,figcaption,footer{color:var(--soft);font-size:.88rem}
.kind{overflow-wrap:anywhere}
ul.rules{list-style:none;margin:0;padding:0}
ul.rules>li{padding:.8rem 0;border-bottom:1px solid var(--rule)}
.top{display:flex;justify-content:space-between;gap:1rem;align-items:baseline}
.mark{font-size:.82rem;font-weight:600;border:1px solid currentColor;border-radius:.3rem;padding:.05rem .5rem;white-space:nowrap}
.mark.pass{color:var(--good)}.mark.fail{color:var(--bad)}.mark.inconclusive{color:var(--open)}
.mark.note,.mark.not_applicable{color:var(--soft)}
.missing{color:var(--open)}
figure{margin:1.2rem 0}
figure.plain svg{display:block;width:100%;max-width:40rem;height:auto}
figure.wide,figure.table{overflow-x:auto}
figure.wide svg{display:block;width:100%;min-width:38rem;height:auto}
figure:focus-visible,summary:focus-visible{outline:2px solid var(--b);outline-offset:2px}
.finding{border-left:.25rem solid var(--rule);padding:.1rem 0 .1rem .9rem;margin:1.4rem 0}
.finding.pass{border-color:var(--good)}.finding.fail{border-color:var(--bad)}.finding.inconclusive{border-color:var(--open)}
ol.witness,ol.recheck{padding-left:1.4rem}
ol.witness li,ol.recheck li{margin:.35rem 0;overflow-wrap:anywhere}
code.command{display:block;background:var(--blank);border-radius:.3rem;padding:.45rem .6rem;margin:.3rem 0;
font:.8rem/1.45 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;overflow-wrap:anywhere;white-space:pre-wrap;
max-height:16rem;overflow-y:auto}
details{margin:.3rem 0}summary{cursor:pointer;color:var(--b);font-size:.88rem}
dl{margin:.4rem 0 .4rem .2rem}dt{font-size:.88rem;color:var(--soft)}dd{margin:0 0 .5rem .8rem;font-variant-numeric:tabular-nums}
table{border-collapse:collapse;font-size:.85rem;font-variant-numeric:tabular-nums}
caption{text-align:left;font-weight:600;padding:.3rem 0}
th,td{padding:.3rem .6rem;border-bottom:1px solid var(--rule);text-align:left;vertical-align:top}
th{font-weight:600;vertical-align:bottom}
.number{text-align:right;white-space:nowrap}
th.number{white-space:normal}
footer{max-width:60rem;margin:2rem auto;padding:1rem;border-top:1px solid var(--rule)}
@media print{body{font-size:11pt}main,footer{max-width:none;padding:0}details:not([open]){display:none}
figure,.finding,ul.rules>li{break-inside:avoid}h2{break-after:avoid}figure.wide,figure.table{overflow:visible}
figure.wide svg{min-width:0}table{font-size:8pt}code.command{max-height:none;border:1px solid var(--rule)}}
)css";

} // namespace

std::string html_head() {
  return std::string("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
                     "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                     "style-src 'unsafe-inline'\">\n<title>Hitproof report</title>\n<style>") +
         svg_style() + page_style + "</style></head>\n<body><main>\n";
}

} // namespace hitproof::cli
