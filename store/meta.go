package store

import (
	"time"

	"go.etcd.io/bbolt"

	"scv/migrations"
)

// Meta is what the store says of itself.
type Meta struct {
	Schema   int
	Instance string    // id of the home it was made for
	Created  time.Time // zero when that record was lost
	Release  string    // that made it
}

// about is the record "about" of the meta bucket; "schema" beside it belongs to migrations.
type about struct {
	Instance string    `json:"instance"`
	Created  time.Time `json:"created"`
	Release  string    `json:"release"`
}

var aboutKey = []byte("about")

// Meta reads it.
func (v *View) Meta() Meta {
	schema, err := migrations.Schema(v.t.tx)
	if err != nil {
		v.t.s.complain(tableMeta, []byte("schema"), err)
	}
	a, _ := get[about](v.t, tableMeta, aboutKey)
	return Meta{Schema: schema, Instance: a.Instance, Created: a.Created, Release: a.Release}
}

// describe writes the record of a store that is being made.
func describe(tx *bbolt.Tx, o Options) error {
	raw, err := encode(about{Instance: o.Instance, Created: o.Clock.Now().Wall, Release: o.Release})
	if err != nil {
		return err
	}
	return tx.Bucket([]byte(tableMeta.Name)).Put(aboutKey, raw)
}
