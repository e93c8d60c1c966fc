import json

from firstfault.jobs.answer import SCHEMA_FILE, SCHEMA_VERSION, Answer
from firstfault.transforms.diagnoses import DIAGNOSES


def test_the_published_schema_is_that_of_the_answer():
    assert json.loads(SCHEMA_FILE.read_text()) == Answer.model_json_schema(mode="serialization")


def test_the_schema_names_its_version():
    assert Answer.model_fields["schema_version"].default == SCHEMA_VERSION == "1.0"


def test_every_column_of_a_diagnosis_is_in_the_answer():
    left_out = {"day", "track"}
    assert set(DIAGNOSES.columns) - left_out <= set(Answer.model_fields)
