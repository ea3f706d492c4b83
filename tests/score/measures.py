"""What is measured: a report against the truth, and the figures over all of them."""

CAUSES = ("leak", "peak", "eval", "capacity", "none", "unknown")
WEAK = ("possible", "cannot tell")


def lead_run(truth, runs):
    """The run whose figures count: the rank or run that the truth is about, else the first that leaks."""
    if truth.get("rank") is not None:
        for r in runs:
            if r.get("rank") == truth["rank"]:
                return r
    for r in runs:
        if r.get("leak") and (r.get("verdict") or {}).get("cause") == "leak":
            return r
    return runs[0] if runs else {}


def slope_error(truth, run):
    """Relative error of the slope, or None where it is not to be judged: the rise must be four times the smallest detectable."""
    leak, slope = run.get("leak") or {}, truth.get("slope") or truth.get("host_slope")
    least, said = leak.get("minimum_detectable_bytes_per_step"), leak.get("slope_bytes_per_step")
    if truth["cause"] != "leak" or not slope or said is None:
        return None
    if least is not None and slope < 4 * least:
        return None
    return abs(said - slope) / slope


def forecasts(truth, run):
    """[inside the interval?] of the forecast of a run that has not failed, and of the back-tests of one that has."""
    leak, step = run.get("leak") or {}, truth.get("forecast_step")
    if truth["cause"] != "leak" or step is None or truth.get("no_forecast"):
        return []
    if "failed" in (truth["status"] or []):
        intervals = [(b.get("low"), b.get("high")) for b in leak.get("backtest") or []]
    else:
        intervals = [(leak.get("forecast_low"), leak.get("forecast_high"))]
    return [low <= step <= high for low, high in intervals if low is not None and high is not None]


def judge(folder, truth, report):
    verdict = report.get("verdict") or {}
    cause, certainty = verdict.get("cause"), verdict.get("certainty")
    j = {"folder": folder, "kind": truth["kind"], "hard": truth["hard"], "decidable": truth["decidable"], "truth": truth["cause"],
         "accept": truth["accept"], "subtypes": truth["subtype"], "cause": cause, "subtype": verdict.get("subtype"),
         "certainty": certainty, "status": verdict.get("status"), "confidence": verdict.get("confidence") or 0.0,
         "error": report.get("error"), "says": None, "truth_says": truth.get("says"), "says_right": None, "shared_right": None,
         "subtype_right": None, "slope_error": None, "forecasts": []}
    if truth["decidable"]:
        j["right"] = cause in truth["accept"]
    else:
        j["right"] = cause == "unknown" or (cause in truth["accept"] and certainty in WEAK)
    # For calibration: is the cause the one that the run was made with (or one that counts as well)?
    j["true"] = cause in truth["accept"] if truth["decidable"] else cause == truth["cause"]
    j["status_right"] = None if truth["status"] is None else j["status"] in truth["status"]
    if truth["decidable"] and truth["subtype"] and cause == truth["cause"]:
        j["subtype_right"] = j["subtype"] in truth["subtype"]
    if truth.get("says"):
        cross = report.get("cross_run") or {}
        j["says"] = cross.get("says")
        j["says_right"] = j["says"] == truth["says"]
        if truth.get("shared_ids"):
            shared = (cross.get("failing_batch") or {}).get("shared_ids") or []
            j["shared_right"] = set(truth["shared_ids"]) <= set(shared)
    run = lead_run(truth, report.get("runs") or [])
    if cause == "leak":
        j["slope_error"] = slope_error(truth, run)
        j["forecasts"] = forecasts(truth, run)
    return j


def share(values):
    values = [bool(v) for v in values if v is not None]
    return sum(values) / len(values) if values else None


def percent(value):
    return "-" if value is None else "%.1f %%" % (100 * value)


def quantile(values, q):
    ordered = sorted(values)
    if not ordered:
        return None
    at = q * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def bins(judged):
    """[(low, high, verdicts)] of ten equal bins of confidence; `unknown` is no claim and left out."""
    out = []
    claims = [j for j in judged if j["cause"] in CAUSES and j["cause"] != "unknown"]
    for b in range(10):
        out.append((b / 10, (b + 1) / 10, [j for j in claims if min(9, int(j["confidence"] * 10)) == b]))
    return out


def calibration_error(judged):
    tallies = [(len(js), sum(j["confidence"] for j in js), sum(j["true"] for j in js)) for _, _, js in bins(judged)]
    total = sum(n for n, _, _ in tallies)
    return sum(abs(conf - good) for _, conf, good in tallies) / total if total else None


def auc(judged):
    """Probability that a right verdict has more confidence than a wrong one, ties counting half."""
    good = sorted(j["confidence"] for j in judged if j["right"])
    bad = sorted(j["confidence"] for j in judged if not j["right"])
    if not good or not bad:
        return None
    won = sum(sum(1.0 if g > b else 0.5 if g == b else 0.0 for b in bad) for g in good)
    return won / (len(good) * len(bad))


def criteria(judged):
    """[measure, is, asked, met] of each criterion."""
    sure = [j for j in judged if j["decidable"]]
    healthy = [j for j in sure if j["truth"] == "none"]
    hard = [j for j in judged if j["hard"]]
    slopes = [j["slope_error"] for j in sure if j["slope_error"] is not None]
    covered = [c for j in judged for c in j["forecasts"]]
    kinds = {k: share(j["right"] for j in sure if j["kind"] == k) for k in {j["kind"] for j in sure}}
    worst = min(kinds, key=lambda k: (kinds[k], k)) if kinds else None

    def row(name, value, text, asked, met):
        return [name, text if value is not None else "-", asked, "-" if value is None else "yes" if met(value) else "NO"]
    cause, alarms = share(j["right"] for j in sure), share(j["cause"] not in ("none", "unknown") for j in healthy)
    subtype, status = share(j["subtype_right"] for j in sure), share(j["status_right"] for j in judged)
    undecided = share(j["right"] for j in judged if not j["decidable"])
    median, nine = quantile(slopes, 0.5), quantile(slopes, 0.9)
    coverage, ece, ece_hard = share(covered), calibration_error(judged), calibration_error(hard)
    says, shared = share(j["says_right"] for j in judged), share(j["shared_right"] for j in judged)
    separates = auc([j for j in hard if j["decidable"]])
    return [
        row("cause", cause, percent(cause), ">= 98 %", lambda v: v >= 0.98),
        row("cause, hard half", share(j["right"] for j in hard if j["decidable"]),
            percent(share(j["right"] for j in hard if j["decidable"])), "-", lambda v: True),
        row("worst kind%s" % (" (%s)" % worst if worst else ""), kinds.get(worst), percent(kinds.get(worst)), ">= 90 %",
            lambda v: v >= 0.9),
        row("undecidable left open", undecided, percent(undecided), ">= 90 %", lambda v: v >= 0.9),
        row("false alarms on healthy runs", alarms, percent(alarms), "<= 1 %", lambda v: v <= 0.01),
        row("subtype, cause right", subtype, percent(subtype), ">= 95 %", lambda v: v >= 0.95),
        row("status", status, percent(status), "-", lambda v: True),
        row("slope error, median of %d" % len(slopes), median, percent(median), "<= 5 %", lambda v: v <= 0.05),
        row("slope error, nine in ten", nine, percent(nine), "<= 15 %", lambda v: v <= 0.15),
        row("forecast interval covers (of %d)" % len(covered), coverage, percent(coverage), "85 to 95 %",
            lambda v: 0.85 <= v <= 0.95),
        row("calibration error", ece, "%.3f" % (ece or 0), "<= 0.05", lambda v: v <= 0.05),
        row("calibration error, hard half", ece_hard, "%.3f" % (ece_hard or 0), "<= 0.05", lambda v: v <= 0.05),
        row("AUC of confidence, hard half", separates, "%.3f" % (separates or 0), ">= 0.8", lambda v: v >= 0.8),
        row("content or step (of %d)" % sum(j["says_right"] is not None for j in judged), says, percent(says), ">= 98 %",
            lambda v: v >= 0.98),
        row("shared sample named (of %d)" % sum(j["shared_right"] is not None for j in judged), shared, percent(shared),
            ">= 98 %", lambda v: v >= 0.98),
    ]


def confusion(judged):
    rows = []
    for truth in ("leak", "peak", "eval", "capacity", "none", "undecided"):
        js = [j for j in judged if (j["truth"] if j["decidable"] else "undecided") == truth]
        rows.append([truth] + [sum(j["cause"] == c for j in js) or "." for c in CAUSES]
                    + [sum(j["cause"] not in CAUSES for j in js) or "."])
    return rows


def calibration(judged):
    rows = []
    for low, high, js in bins(judged):
        if js:
            rows.append(["%.1f-%.1f" % (low, high), len(js), "%.3f" % (sum(j["confidence"] for j in js) / len(js)),
                         "%.3f" % (sum(j["true"] for j in js) / len(js))])
    return rows


def by_kind(judged, naive_kinds):
    rows = []
    for kind in sorted({j["kind"] for j in judged}):
        js = [j for j in judged if j["kind"] == kind]
        good, n = naive_kinds.get(kind, (0, 0))
        rows.append([kind, len(js), percent(share(j["right"] for j in js)),
                     percent(share(j["right"] for j in js if not j["hard"])),
                     percent(share(j["right"] for j in js if j["hard"])), percent(share(j["subtype_right"] for j in js)),
                     percent(share(j["status_right"] for j in js)), percent(good / n if n else None)])
    return rows
