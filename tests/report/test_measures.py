"""What experiments measure besides counts, as tables."""

from inalu.report import measures


def test_any_measure_becomes_a_table():
    grid = measures.measure("leaky_gate", {"weight": -1e-5, "runs": 7, "median_mse": None})
    assert grid.head == ("weight", "runs", "median MSE")
    assert grid.rows == (("-1.00e-5", "7", "not finite"),)
    mixed = measures.measure("rows", [{"model": "inalu-shared", "a": True}, {"model": "mlp", "b": 0.5}])
    assert mixed.rows == (("iNALU (sw)", "yes", "–"), ("mlp", "–", "0.5"))
    assert measures.measure("none", []).rows == ()


def test_stability_has_a_column_for_each_depth():
    rows = [
        {"model": "inalu-shared", "layers": depth, "value_clipping": clipped, "gradient_clipping": True,
         "runs": 20, "non_finite": depth if clipped else 20, "stopped": 0}
        for depth in (1, 2) for clipped in (True, False)
    ]  # fmt: skip
    grid = measures.stability(rows)
    assert grid.head[3:] == ("1 layer", "2 layers")
    assert grid.rows == (
        ("iNALU (sw)", "yes", "yes", "1/20", "2/20"), ("iNALU (sw)", "no", "yes", "20/20", "20/20"),
    )  # fmt: skip


def test_effects_are_in_percentage_points():
    row = {"operation": "div", "model": "inalu-shared", "departure": "RMSProp", "share_without": 0.5,
           "share_with": 0.75, "low": 0.2, "high": 0.3}  # fmt: skip
    grid = measures.effects([row, {**row, "departure": "alternation", "share_with": 0.5}])
    assert grid.rows == (("a ÷ b", "iNALU (sw)", "+25 (+20 to +30)", "0"),)


def combination(**changes):
    return {
        "RMSProp": True, "alternation": False, "runs": 8, "settings": 4, "differ": 1, "mean_distance": 0.5,
        "distance_by_chance": 0.25, "differ_float32": 1, "mean_distance_float32": 0.5,
        "distance_by_chance_float32": 0.25, **changes,
    }  # fmt: skip


def test_combinations_stand_by_their_distance_to_the_published_counts():
    near = {"mean_distance": 0.125, "mean_distance_float32": 0.125}
    grid = measures.combinations([combination(RMSProp=False), combination(**near)])
    assert grid.head == ("RMSProp", "alternation", "settings that differ", "mean distance", "by chance")
    assert grid.rows == (("✓", "–", "1 of 4", "0.125", "0.25"), ("–", "–", "1 of 4", "0.5", "0.25"))


def test_where_the_precision_decides_combinations_stand_by_what_compares_like_with_like():
    grid = measures.combinations(
        [combination(RMSProp=False), combination(differ_float32=0, mean_distance_float32=0.25)]
    )
    assert grid.head[2:] == (
        "settings that differ", "mean distance", "by chance", "settings that differ, float32",
        "mean distance, float32", "by chance, float32",
    )  # fmt: skip
    assert grid.rows[0] == ("✓", "–", "1 of 4", "0.5", "0.25", "0 of 4", "0.25", "0.25")
