package restart

import "time"

// Pace is how long the steps of a restart may take.
type Pace struct {
	Beat     time.Duration // between two signs of life
	Soak     time.Duration // the new release must serve so long before it is trusted
	Silence  time.Duration // without a sign of life it is rolled back
	Limit    time.Duration // of a migration, and of a probation without a guard
	Accounts time.Duration // for accounts that were connected to come back
	Willing  time.Duration // for the daemon to obey a rollback by itself before it is ended
	Manager  time.Duration // for a service manager to start the daemon before the guard does
	Look     time.Duration // between two looks of guard and watcher
}

// Stamped by the linker into the builds of tests, which cannot wait so long: a time as 300ms.
var soakStamp, silenceStamp, accountsStamp, planStamp string

// PlanLook is the time between two looks at a plan that waits.
func PlanLook() time.Duration { return stamped(planStamp, time.Second) }

// pace are the times of docs/rules.md §5.
func pace() Pace {
	return Pace{
		Beat: time.Second, Soak: stamped(soakStamp, 5*time.Second), Silence: stamped(silenceStamp, 30*time.Second),
		Limit: 10 * time.Minute, Accounts: stamped(accountsStamp, 180*time.Second),
		Willing: time.Second, Manager: 2 * time.Second, Look: 100 * time.Millisecond,
	}
}

func stamped(text string, otherwise time.Duration) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		return otherwise
	}
	return d
}
