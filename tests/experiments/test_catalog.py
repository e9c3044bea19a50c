"""The catalogue: as many runs as the paper planned, in settings that meet the published ones."""

from collections import Counter

import pytest

from inalu import PAPER, ROBUST, Network
from inalu.errors import InvalidArgument
from inalu.experiments.catalog import EXPERIMENTS, Selection, Treatment, choose, treatments
from inalu.experiments.catalog.model import parse_seeds, split_list
from inalu.experiments.published import EXPERIMENTS as PUBLISHED
from inalu.experiments.published import published_settings, runs_of
from inalu.tasks import key_of


@pytest.fixture(scope="module")
def paper():
    return treatments()["PAPER"]


def runs(name, treatment, **selection):
    return EXPERIMENTS[name].runs(treatment, Selection(**selection))


@pytest.mark.parametrize(("name", "count"), [("exp1", 1120), ("exp2", 1120), ("exp3", 4320), ("exp4", 320)])
def test_as_many_runs_as_the_paper(paper, name, count):
    cases = runs(name, paper)
    assert len(cases) == count
    assert len({(case.setting, case.job.seed) for case in cases}) == count


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_published_setting_is_one_of_ours_with_its_seeds(paper, name):
    cases = runs(name, paper)
    ours = {case.setting for case in cases}
    assert set(published_settings(name)) <= ours
    if name != "exp3":
        assert set(published_settings(name)) == ours
    seeds = {case.job.seed for case in cases}
    assert all({run.seed for run in runs_of(setting)} <= seeds for setting in ours)


@pytest.mark.parametrize(("name", "count"), [("exp1", 840), ("exp2", 840), ("exp4", 320)])
def test_the_two_gates_are_one_model_where_there_is_one_output(paper, name, count):
    cases = runs(name, paper)
    assert len({case.job.specification("cpu", 1).key for case in cases}) == count


def test_all_distributions_and_other_operations(paper):
    every = runs("exp1", paper, all_distributions=True, seeds=(1,))
    assert len({case.setting.train for case in every}) == 18
    roots = runs("exp1", paper, operations=("sqrt",), seeds=(1,))
    assert roots
    assert all(min(*c.job.problem.train.bounds, *c.job.problem.extrapolation.bounds) >= 0 for c in roots)
    squares = runs("exp1", paper, operations=("square",), seeds=(1,))
    assert {case.job.network.widths for case in squares} == {(2, 2, 1)}
    assert {case.job.network.widths for case in runs("exp1", paper, operations=("identity",))} == {(2, 1)}


def test_a_selection_is_what_was_asked_for(paper):
    cases = runs(
        "exp1", paper, models=("inalu-shared",), operations=("div",), distributions=("E(0.6)", " U(-1, 1)"),
        seeds=(7,),
    )  # fmt: skip
    assert {c.setting.train for c in cases} == {"E(0.6)", "U(-1,1)"}
    assert len(cases) == 2
    assert runs("exp3", paper, distributions=("E(0.6)",)) == ()
    for wrong in ({"models": ("nalu",)}, {"operations": ("plus",)}, {"distributions": ("U(1,-1)",)}):
        with pytest.raises(InvalidArgument):
            Selection(**wrong)


def test_experiment_3_starts_from_its_triples(paper):
    cases = runs("exp3", paper, seeds=(100,))
    assert Counter(case.setting.operation for case in cases) == dict.fromkeys(
        ("add", "sub", "mul", "div"), 54
    )
    for case in cases[:60]:
        law, start = case.job.law, case.setting.initialisation
        assert (law.G.mean, law.M_hat.mean, law.W_hat.mean) == start.means
        assert law.G.std == law.M_hat.std == law.W_hat.std == start.std
    assert len({case.job.problem.x_key(100, "train", 10) for case in cases}) == 1


def test_the_declared_variants_of_the_published_code():
    found = treatments()
    variants = [name for name in found if name.startswith("AUTHORS_CODE")]
    assert len(variants) == 3
    code, text = found["AUTHORS_CODE"], found["AUTHORS_CODE_CORRECT_SIGN"]
    assert code.network("inalu-shared", (100, 2, 1)).options["sign"] == "published"
    assert text.network("inalu-shared", (100, 2, 1)) == Network("inalu-shared", (100, 2, 1))
    # With one output both orders are the same, so both are the same run.
    for name in ("exp1", "exp2"):
        first, second = (runs(name, t, seeds=(100,)) for t in (code, text))
        assert [c.job for c in first] == [c.job for c in second]
    assert runs("exp3", code, seeds=(100,))[0].job.recipe.epochs == 201
    assert runs("exp3", found["PAPER"], seeds=(100,))[0].job.recipe.epochs == 100
    planner = runs("exp3", found["AUTHORS_CODE_PLANNER"], seeds=(100,))[0]
    assert planner.setting.train == "N(-3,3)"
    x = planner.job.problem.draw_x(100, "train", 2000)
    assert abs(x).max() <= 2
    assert x.std() == pytest.approx(0.88, abs=0.01)


def test_inputs_within_two_deviations_are_the_normal_s():
    from scipy import stats

    from inalu.experiments.catalog.treatments import StandardNormalWithin2

    x = StandardNormalWithin2().draw(key_of("test"), (20_000,))
    assert stats.kstest(x, stats.truncnorm(-2, 2).cdf).pvalue > 0.01


def test_every_value_says_where_it_comes_from():
    for experiment in EXPERIMENTS.values():
        for name in ("seeds", "models", "operations", "ranges", "planned"):
            assert len(getattr(experiment, name).source) > 3
        first, last = experiment.lines
        assert 1 <= first <= last


@pytest.mark.parametrize("name", ["regularization", "ablation", "stability"])
def test_what_changes_a_recipe_needs_one(name):
    robust = Treatment(name="ROBUST", about="", recipe=ROBUST)
    with pytest.raises(InvalidArgument, match="changes parts of a recipe"):
        EXPERIMENTS[name].runs(robust)


def test_the_ablation_takes_away_one_part_at_a_time(paper):
    cases = runs("ablation", paper, seeds=(100,))
    assert len(cases) == 8 * (28 + 8)
    labels = Counter(case.setting.model for case in cases)
    assert len(labels) == 16
    complete = [
        c.job for c in cases if c.setting.model.endswith("2-1, complete") and len(c.job.network.widths) == 2
    ]
    exp1 = {c.job.specification("cpu", 1).key for c in runs("exp1", paper, seeds=(100,))}
    # The complete model is experiment 1's, so its runs are not made twice.
    assert {job.specification("cpu", 1).key for job in complete} <= exp1


@pytest.mark.parametrize(
    ("model", "parts"), [("inalu-independent", 8), ("inalu-shared", 7), ("nalu-matrix", 5), ("nau", 4)]
)
def test_only_parts_that_a_cell_has_are_taken_away(paper, model, parts):
    cases = runs("ablation", paper, models=(model,), seeds=(100,), distributions=("U(-1,1)",))
    assert len({case.setting.model for case in cases}) == parts
    assert len({case.job for case in cases}) == len(cases)


def test_stability_and_regularization(paper):
    stability = runs("stability", paper, seeds=(1,))
    assert len(stability) == 8 * 6
    assert {len(case.job.network.widths) - 1 for case in stability} == set(range(1, 9))
    stages = runs("regularization", paper, seeds=(1,))
    assert len(stages) == 2 * 2 * 3
    assert {case.job.recipe.epochs for case in stages} == {10, 15}


def test_choose():
    assert [e.name for e in choose(["exp2", "exp1"])] == ["exp1", "exp2"]
    # The factorials are for whoever asks for them.
    asked_for = [name for name in EXPERIMENTS if name.startswith("departures-")]
    assert [e.name for e in choose(["all"])] == [name for name in EXPERIMENTS if name not in asked_for]
    assert [e.name for e in choose(["all", asked_for[0]])][-3:] == [asked_for[0], "stability", "mnist"]
    with pytest.raises(InvalidArgument, match="Did you mean 'exp1'"):
        choose(["exp 1"])
    with pytest.raises(InvalidArgument):
        choose([])


def test_lists_and_seeds():
    assert split_list("U(-1,1),N(-3,3), E(0.2)") == ("U(-1,1)", "N(-3,3)", "E(0.2)")
    assert split_list("U(-6,-2)|U(2,6),E(1)") == ("U(-6,-2)|U(2,6)", "E(1)")
    assert split_list("") == split_list(",") == ()
    assert parse_seeds("3,1-2,2") == (3, 1, 2)
    for wrong in ("", "a", "3-1", "1-", "-1", "1.5", "0-999999999"):
        with pytest.raises(InvalidArgument, match="seeds must be"):
            parse_seeds(wrong)


def test_a_treatment_leaves_its_recipe_alone(paper):
    assert paper.recipe_for("exp1") is PAPER
    assert paper.recipe_for("exp1", epochs=3).epochs == 3
