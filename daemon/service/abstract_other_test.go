//go:build !linux

package service

const abstractSockets = false
