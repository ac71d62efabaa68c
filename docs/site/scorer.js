/* How results of a search are ranked: pages for users, pages that mention much in passing, those for who
   changes Lazyloom, lists, and last the API reference, in which every class repeats the names of its
   methods. Who types a dotted name wants that object. */
var Scorer = {
  lists: /CHANGELOG|CODE_OF_CONDUCT|benchmarks\/|_coverage$|docs\/(ops|op_|index)/,
  mentions: /docs\/(ecosystem|from_|glossary)/,
  inside: /CONTRIBUTING|docs\/(add|architecture|backend|compiler_defects|findings|frontend|runtime)/,
  objNameMatch: 11, objPartialMatch: 6, objPrio: {0: 15, 1: 5, 2: -5}, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,
  rank: (docname, title, kind, query) => {
    if (kind === "object" && query.includes(".") && title.toLowerCase() === query) return 4;
    if (docname.startsWith("docs/site/api/")) return 0;
    if (Scorer.lists.test(docname)) return 1;
    if (Scorer.inside.test(docname)) return kind === "title" ? 2 : 1.5;
    if (kind === "title") return 3;
    const about = title.toLowerCase().includes(query);
    return Scorer.mentions.test(docname) && !about ? 2.2 : 2.5;
  },
  score: ([docname, title, anchor, descr, score, filename, kind]) => {
    const asked = new URLSearchParams(window.location.search).get("q") || "";
    return 1000 * Scorer.rank(docname, title, kind, asked.trim().toLowerCase()) + score;
  },
};
