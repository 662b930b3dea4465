from app.scheduling.engine_state import BULK_ROWS, BULK_ROWS_IN_COMPANY, COMPANY_SECONDS, BulkShare


def test_lists_have_less_of_an_engine_while_single_segments_come() -> None:
    share = BulkShare()
    assert share.n_rows(0.0) == BULK_ROWS
    share.single_came(10.0)
    assert share.n_rows(10.0 + COMPANY_SECONDS / 2) == BULK_ROWS_IN_COMPANY
    share.single_came(10.0 + COMPANY_SECONDS / 2)
    assert share.n_rows(10.0 + COMPANY_SECONDS) == BULK_ROWS_IN_COMPANY
    assert share.n_rows(10.0 + 1.5 * COMPANY_SECONDS) == BULK_ROWS
    assert BULK_ROWS_IN_COMPANY < BULK_ROWS
