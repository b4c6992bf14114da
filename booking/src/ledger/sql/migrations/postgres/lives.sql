-- The oldest incarnation of a show's data in the store whose locks a claim may rest on.
ALTER TABLE shows ADD COLUMN claims_from BIGINT NOT NULL DEFAULT 0;
