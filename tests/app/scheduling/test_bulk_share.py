from app.scheduling.bulk_share import ALONE, COMPANY, IN_COMPANY, BulkShare


def test_lists_have_less_of_an_engine_while_single_segments_come() -> None:
    share = BulkShare()
    assert share.n_rows(0.0) == ALONE
    share.single_came(10.0)
    assert share.n_rows(10.0 + COMPANY / 2) == IN_COMPANY
    share.single_came(10.0 + COMPANY / 2)
    assert share.n_rows(10.0 + COMPANY) == IN_COMPANY
    assert share.n_rows(10.0 + 1.5 * COMPANY) == ALONE
    assert IN_COMPANY < ALONE
