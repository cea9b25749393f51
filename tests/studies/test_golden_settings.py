"""What the settings of a study make of scenarios: one of each experiment in full, and a digest of all of them.

A scenario that is made otherwise is another experiment, of which the committed results are not.
"""

import hashlib
import json

import pytest

from daybreak.scenario.lowering import lower
from daybreak.studies import STUDIES, study


def lines(document, usual):
    """What differs from another scenario, each entry of a list on a line of its own."""
    for name, value in document.items():
        if value == usual.get(name):
            continue
        entries = value if isinstance(value, list) and value and isinstance(value[0], dict) else [value]
        for entry in entries:
            yield f"    {name}: {json.dumps(entry, ensure_ascii=False)}"


def digest(text):
    return hashlib.sha256(text).hexdigest()[:12]


@pytest.mark.parametrize("name", STUDIES)
def test_the_scenarios_of_a_study(golden, name):
    found, text, usual, known = study(name), [], {}, {}
    scale = found.scales["full"]
    for figure, experiment in found.experiments.items():
        settings = experiment.settings(scale)
        for setting in settings:
            if setting not in known:
                job = found.job(setting, 1, "simulated")
                document = json.dumps(job.scenario.document(), ensure_ascii=False)
                facts = f"{setting.name} {scale.runs_of(setting)} {found.cost(setting):.6g} {job.engine}"
                known[setting] = document, digest(f"{facts} {document}".encode())
        whole = digest(" ".join(known[setting][1] for setting in settings).encode())
        runs = sum(map(scale.runs_of, settings))
        text.append(f"{figure}: {len(settings)} settings, {runs} runs, together {whole}")
        if settings:
            first = json.loads(known[settings[0]][0])
            text += lines(first, usual)
            usual = first
        few = found.scales["quick"]
        names = [f"{one.name} {few.runs_of(one)}" for one in experiment.settings(few)]
        text.append(f"    quick: {len(names)} settings, together {digest(' '.join(names).encode())}")
    golden(f"settings-{name}.txt", "\n".join(text) + "\n")


@pytest.mark.parametrize("name", STUDIES)
def test_seeds_draw_what_is_random_and_kernels_have_hosts_of_their_own(golden, name):
    found, text = study(name), []
    for figure, experiment in found.experiments.items():
        for setting in list(experiment.settings(found.scales["quick"]))[:1]:
            starts = [
                [
                    flow.start_ps
                    for flow in lower(found.job(setting, seed, "simulated").scenario, seed).content.flows[:3]
                ]
                for seed in (1, 2)
            ]
            kernel = found.job(setting, 1, "kernel")
            stack = kernel.scenario.document().get("stack")
            text.append(f"{figure} {setting.name}: starts at {starts} ps; {kernel.engine} {json.dumps(stack)}")
    golden(f"settings-{name}-drawn.txt", "\n".join(text) + "\n")
